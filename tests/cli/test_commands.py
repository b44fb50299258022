"""Output, files and errors of the `nnk-image` commands."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from command import process, run
from PIL import Image

import nnk_image
from nnk_image.base.parallel import resolve_n_jobs

COMMANDS = ("demo", "denoise", "noise", "graph", "compaction")


class TestDenoise:
    def test_writes_the_result_of_denoise(self, capsys, photo, tmp_path):
        out = tmp_path / "out.png"
        status, text, err = run(capsys, "denoise", photo, out, "--sigma", "15")
        assert (status, err) == (0, "")
        assert "strong noise, about 15 of 255 (given), " in text
        expected = nnk_image.denoise(np.asarray(Image.open(photo)), 15)
        expected = np.clip(np.rint(expected), 0, 255).astype(np.uint8)
        np.testing.assert_array_equal(np.asarray(Image.open(out)), expected)

    def test_noise_model_is_printed_saved_and_used(self, capsys, photo, tmp_path):
        model, plot, out = (tmp_path / name for name in ("m.json", "m.png", "out.png"))
        status, text, err = run(capsys, "noise", photo, "--out", model, "--plot", plot)
        assert (status, err) == (0, "")
        expected = nnk_image.estimate_noise(np.asarray(Image.open(photo)))
        level = f"{expected.sigma[0]:.2g}"
        assert f"{photo}: strong noise, about {level} of 255 (+- 5 %): {expected}" in text
        with Image.open(plot) as picture:
            assert picture.width > 300
        found = nnk_image.NoiseModel.from_json(model.read_text())
        assert 10 < found.sigma[0] < 20
        assert run(capsys, "denoise", photo, out, "--noise", model)[0] == 0
        blind = tmp_path / "blind.png"
        assert run(capsys, "denoise", photo, blind)[0] == 0
        assert out.read_bytes() == blind.read_bytes()
        status, text, _ = run(
            capsys, "denoise", photo, out, "--gain", "2", "--read", "5", "--overwrite"
        )
        assert status == 0
        assert "strong noise, about 17 of 255, stronger in bright parts (given)" in text
        again = "--overwrite", "--sigma"
        assert run(capsys, "denoise", photo, out, *again, "10", "--strength", "1.5")[0] == 0
        assert run(capsys, "denoise", photo, blind, *again, "15")[0] == 0
        first, second = (np.asarray(Image.open(file)) for file in (out, blind))
        between = (second > 60) & (second < 195)  # clipping depends on the noise level itself
        np.testing.assert_array_equal(first[between], second[between])

    def test_contradictory_options_and_invalid_models_are_refused(self, capsys, photo, tmp_path):
        other = tmp_path / "other.json"
        other.write_text("[]")
        colors = tmp_path / "colors.json"
        colors.write_text(nnk_image.NoiseModel([1.0, 2.0, 3.0]).to_json())
        for arguments, message in (
            (("--sigma", "3", "--gain", "2"), "--gain: not allowed with argument --sigma"),
            (
                ("--noise", other),
                "other.json: is not a noise model (the text is JSON, but not that of",
            ),
            (("--noise", photo), "photo.png: is not a noise model; 'nnk-image noise IMAGE"),
            (("--noise", colors), "sigma has 3 values, but the image has 1 channel:"),
            (("--noise", tmp_path / "none.json"), "No such file"),
            (("--gain", "-2"), "gain=-2.0 must be"),
            (("--strength", "0"), "strength=0.0 must be"),
        ):
            status, _, err = run(capsys, "denoise", photo, tmp_path / "out.png", *arguments)
            assert status == (2 if "not allowed" in message else 1)
            assert message in err
            assert not (tmp_path / "out.png").exists()

    def test_an_image_without_noise_gives_a_message(self, capsys, tmp_path):
        clean = tmp_path / "clean.png"
        ramp = np.tile(np.arange(0, 200, 2, dtype=np.uint8), (80, 1))
        Image.fromarray(ramp).save(clean)
        np.save(tmp_path / "floats.npy", ramp / 255)
        err = run(capsys, "denoise", tmp_path / "floats.npy", tmp_path / "out.npy")[2]
        assert "found no noise to remove" in err
        status, _, err = run(capsys, "denoise", clean, tmp_path / "out.png")
        assert status == 0
        assert "found no noise to remove" in err
        again = "--overwrite", "--sigma", "0.05"
        status, _, err = run(capsys, "denoise", clean, tmp_path / "out.png", *again)
        assert status == 0
        assert "the given noise, 0.05 in the units of the file, changes no value" in err

    def test_estimated_noise_is_reported(self, capsys, photo, tmp_path):
        report = tmp_path / "report.json"
        out = tmp_path / "o.png"
        status, text, _ = run(capsys, "denoise", photo, out, "--json", report)
        assert status == 0
        assert "(estimated)" in text
        content = json.loads(report.read_text())
        assert (content["version"], content["method"]) == (nnk_image.__version__, "fast")
        assert content["strength"] == 1
        (image,) = content["images"]
        assert 10 < image["sigma"] < 20
        assert image["sigma_estimated"] is True
        (tmp_path / "m.json").write_text(json.dumps(image["noise"]))
        again = tmp_path / "again.png"
        assert run(capsys, "denoise", photo, again, "--noise", tmp_path / "m.json")[0] == 0
        assert again.read_bytes() == out.read_bytes()
        assert (image["input"], image["output"]) == (str(photo), str(out))
        assert (image["shape"], image["dtype"]) == ([64, 80], "uint8")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("PHOTO", "out.gif"), "only read, not written"),
            (("PHOTO", "out.png", "--sigma", "-3"), "sigma=-3.0"),
            (("PHOTO", "out.png", "--sigma", "nan"), "sigma=nan"),
            (("PHOTO", "out.png", "--method", "magic"), "'magic'"),
            (("PHOTO", "out.png", "--jobs", "0"), "--jobs=0 is not"),
            (("PHOTO", "out.png", "--max-pixels", "10"), "raise the limit (--max-pixels) to"),
        ],
    )
    def test_errors_are_one_line_and_exit_status_1(
        self, capsys, photo, tmp_path, monkeypatch, arguments, message
    ):
        monkeypatch.chdir(tmp_path)
        arguments = [str(photo) if a == "PHOTO" else a for a in arguments]
        status, out, err = run(capsys, "denoise", *arguments)
        assert status == 1
        assert out == ""
        assert err.startswith("nnk-image: ")
        assert err.count("\n") == 1
        assert message in err
        assert not (tmp_path / "out.png").exists()

    def test_folder_to_a_new_folder(self, capsys, photo, tmp_path):
        photo.rename(photo.parent / "a.png")
        Image.open(photo.parent / "a.png").convert("1").save(photo.parent / "b.pbm")
        status, text, err = run(capsys, "denoise", photo.parent, tmp_path / "out", "--sigma", "9")
        assert (status, err) == (0, "")
        assert text.count("\n") == 2
        # PBM holds only black and white, so the result is written as PNG.
        assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.png", "b.png"]
        alone = tmp_path / "alone.png"
        assert run(capsys, "denoise", photo.parent / "a.png", alone, "--sigma", "9")[0] == 0
        assert (tmp_path / "out" / "a.png").read_bytes() == alone.read_bytes()

    def test_patterns_and_files_to_an_existing_folder(self, capsys, photo, tmp_path):
        (tmp_path / "other").mkdir()
        other = tmp_path / "other" / "second.png"
        other.write_bytes(photo.read_bytes())
        out = tmp_path / "out"
        out.mkdir()
        pattern = photo.parent / "*.png"
        assert run(capsys, "denoise", pattern, other, out, "--sigma", "9")[0] == 0
        assert sorted(p.name for p in out.iterdir()) == ["photo.png", "second.png"]

    def test_one_file_to_a_folder(self, capsys, photo, tmp_path):
        out = tmp_path / "out"
        assert run(capsys, "denoise", photo, f"{out}/", "--sigma", "9")[0] == 0
        assert (out / "photo.png").exists()

    def test_one_bad_image_does_not_stop_the_others(self, capsys, photo, tmp_path):
        (photo.parent / "bad.png").write_bytes(b"hello, world")
        report = tmp_path / "report.json"
        out = tmp_path / "out"
        arguments = ("denoise", photo.parent, out, "--sigma", "9", "--json", report)
        status, text, err = run(capsys, *arguments)
        assert status == 1
        first, last = err.splitlines()
        assert first.startswith(f"nnk-image: {photo.parent / 'bad.png'}: ")
        assert last == "nnk-image: 1 of 2 images failed"
        assert text.count("\n") == 1
        assert [p.name for p in out.iterdir()] == ["photo.png"]
        bad, good = json.loads(report.read_text())["images"]
        assert bad == {"input": str(photo.parent / "bad.png"), "error": first[11:]}
        assert good["sigma"] == 9

    def test_an_invalid_option_is_reported_once(self, capsys, photo, tmp_path):
        (photo.parent / "second.png").write_bytes(photo.read_bytes())
        status, text, err = run(capsys, "denoise", photo.parent, tmp_path / "o", "--sigma", "-3")
        assert (status, text, err.count("\n")) == (1, "", 1)
        assert not (tmp_path / "o").exists()

    def test_two_images_with_the_same_output_are_refused(self, capsys, photo, tmp_path):
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / photo.name).write_bytes(photo.read_bytes())
        arguments = ("denoise", photo, tmp_path / "other", tmp_path / "out")
        status, _, err = run(capsys, *arguments)
        assert status == 1
        assert "would both be written to" in err

    def test_several_images_need_an_output_folder(self, capsys, photo, tmp_path):
        out = tmp_path / "out.png"
        for exists in (False, True):
            if exists:
                out.write_bytes(b"old")
            status, _, err = run(capsys, "denoise", photo.parent, out)
            assert status == 1
            assert "need a folder" in err
        assert out.read_bytes() == b"old"


class TestCompaction:
    def test_report_and_plot_show_the_energy_compaction(self, capsys, photo, tmp_path):
        files = {k: tmp_path / f"energy.{k}" for k in ("json", "png")}
        status, out, err = run(
            capsys,
            *("compaction", photo, "--orders", "4", "6", "--window", "7"),
            *("--json", files["json"], "--plot", files["png"]),
        )
        assert (status, err) == (0, "")
        pixels = np.asarray(Image.open(photo))
        graphs = {
            "bilateral": nnk_image.bilateral_graph(pixels, 7),
            "nnk": nnk_image.image_graph(pixels, 7),
        }
        expected = nnk_image.energy_compaction(pixels, graphs, orders=[4, 6])
        report = json.loads(files["json"].read_text())[str(photo)]
        assert report["n_edges"] == expected.n_edges
        assert report["orders"] == [4, 6]
        for name in ("energy", "normalized", "cumulative"):
            for graph, table in getattr(expected, name).items():
                np.testing.assert_allclose(report[name][graph], table, rtol=1e-12)
        with Image.open(files["png"]) as plot:
            assert plot.width > 200
        assert f"{100 * expected.reduction:.1f} % fewer edges" in out

    def test_summary_of_a_folder(self, capsys, photo):
        other = photo.with_name("other.png")
        for number in (1, 2):  # a single image has no summary
            status, out, err = run(
                capsys, "compaction", photo.parent, "--orders", "4", "--sigma-f", 30
            )
            assert (status, err) == (0, "")
            assert out.count("% fewer edges") == 2 * number - 1
            other.write_bytes(photo.read_bytes())
        assert "2 images: the NNK graph has" in out

    def test_coding_gain_of_blocks_is_reported(self, capsys, photo, tmp_path):
        other, report, plot = photo.parent / "other.png", tmp_path / "e.json", tmp_path / "e.png"
        Image.open(photo).transpose(Image.Transpose.ROTATE_90).save(other)
        arguments = ("--orders", "4", "--blocks", "8", "--json", report, "--plot", plot)
        status, out, _ = run(capsys, "compaction", photo.parent, *arguments)
        assert status == 0
        given = {"orders": [4], "block_size": 8}
        first, second = (
            nnk_image.energy_compaction(np.asarray(Image.open(path)), **given)
            for path in (photo, other)
        )
        expected = first.with_klt([second])
        found = json.loads(report.read_text())[str(photo)]
        assert found["coding_gain"] == pytest.approx(expected.coding_gain)
        for name, shares in expected.blocks.items():
            np.testing.assert_allclose(found["blocks"][name], shares, rtol=1e-6)
        assert f"dct {expected.coding_gain['dct']:.2f}, " in out
        with Image.open(plot) as picture:
            assert picture.width > 500

    def test_klt_needs_another_image(self, capsys, photo):
        status, out, _ = run(capsys, "compaction", photo, "--orders", "4", "--blocks", "4")
        assert status == 0
        assert "graph given: dct " in out
        assert ", klt " not in out

    def test_one_bad_image_does_not_stop_the_others(self, capsys, photo, tmp_path):
        Image.new("L", (20, 20), 7).save(photo.parent / "flat.png")
        file = tmp_path / "e.json"
        arguments = ("--orders", "4", "--json", file)
        status, out, err = run(capsys, "compaction", photo.parent, *arguments)
        assert status == 1
        assert "flat.png: all channels of the image are constant" in err
        assert err.endswith("nnk-image: 1 of 2 images failed\n")
        assert f"{photo}: " in out
        report = json.loads(file.read_text())
        assert set(report[str(photo.parent / "flat.png")]) == {"input", "error"}
        assert set(report) == {str(photo), str(photo.parent / "flat.png")}

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--window", "4"), "--window=4 must"),
            (("--orders", "0"), "--orders=0 must"),
            (("--sigma-f", "0"), "--sigma-f=0.0 must be"),
            (("--plot", "nowhere/p.png"), "does not exist"),
        ],
    )
    def test_invalid_options_are_refused(self, capsys, photo, arguments, message):
        status, _, err = run(capsys, "compaction", photo, *arguments)
        assert status == 1
        assert message in err

    def test_no_plot_is_written_if_all_images_fail(self, capsys, tmp_path):
        flat = tmp_path / "flat.png"
        Image.new("L", (20, 20), 7).save(flat)
        plot = tmp_path / "e.png"
        status, out, err = run(capsys, "compaction", flat, "--orders", "4", "--plot", plot)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert not plot.exists()


class TestGraph:
    def test_graph_is_saved_plotted_and_reported(self, capsys, photo, tmp_path):
        files = {k: tmp_path / f"graph.{k}" for k in ("npz", "png", "json")}
        status, text, err = run(
            capsys,
            *("graph", photo, "--window", "7", "--sigma-f", "12", "--out", files["npz"]),
            *("--plot", files["png"], "--json", files["json"]),
        )
        assert (status, err) == (0, "")
        expected = nnk_image.image_graph(np.asarray(Image.open(photo)), 7, sigma_f=12)
        loaded = nnk_image.ImageGraph.load(files["npz"])
        assert (loaded.adjacency != expected.adjacency).nnz == 0
        assert (loaded.window, loaded.sigma_f) == (7, 12)
        assert f"{expected.n_edges:,}," in text
        assert str(files["npz"]) in text
        (report,) = json.loads(files["json"].read_text())["graphs"]
        assert report["n_edges"] == expected.n_edges
        assert report["input"] == str(photo)
        with Image.open(files["png"]) as picture:
            assert picture.width > 600

    @pytest.mark.parametrize("extension", ["svg", "pdf"])
    def test_plots_are_written_in_vector_formats(self, capsys, photo, tmp_path, extension):
        picture = tmp_path / f"degrees.{extension}"
        assert run(capsys, "graph", photo, "--kind", "bilateral", "--plot", picture)[0] == 0
        start = {"svg": b"<?xml", "pdf": b"%PDF"}[extension]
        assert picture.read_bytes().startswith(start)

    def test_color_images_give_a_color_graph(self, capsys, photo, tmp_path):
        color = np.stack([np.asarray(Image.open(photo))[:, k : k + 60] for k in (0, 9, 18)], -1)
        path, out = tmp_path / "color.png", tmp_path / "c.npz"
        Image.fromarray(color).save(path)
        assert run(capsys, "graph", path, "--out", out)[0] == 0
        expected = nnk_image.image_graph(color, channel_axis=-1).adjacency
        assert (nnk_image.ImageGraph.load(out).adjacency != expected).nnz == 0

    def test_graphs_of_a_folder(self, capsys, photo, tmp_path):
        (photo.parent / "bad.png").write_bytes(b"hello, world")
        out = tmp_path / "graphs"
        status, text, err = run(capsys, "graph", photo.parent, "--out", out, "--plot", out)
        assert status == 1
        assert err.count("\n") == 2
        assert text.startswith(f"{photo}:")
        assert sorted(p.name for p in out.iterdir()) == ["photo.npz", "photo.png"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--window", "4"), "--window=4 must"),
            (("--sigma-d", "0"), "--sigma-d=0.0 must"),
            (("--sigma-d", "1e200"), "or change --sigma-d\n"),
            (("--jobs", "0"), "--jobs=0 is not"),
            (("--out", "nowhere/g.npz"), "does not exist"),
            (("--plot", "nowhere/p.png"), "does not exist"),
            (("--plot", "picture.xyz"), "xyz"),
            (("--max-pixels", "10"), "--max-pixels"),
        ],
    )
    def test_invalid_options_are_refused(
        self, capsys, photo, tmp_path, monkeypatch, arguments, message
    ):
        monkeypatch.chdir(tmp_path)
        status, out, err = run(capsys, "graph", photo, *arguments)
        assert (status, out) == (1, "")
        assert message in err
        assert err.count("\n") == 1
        assert not (tmp_path / "picture.xyz").exists()


class TestDemo:
    def test_prints_scores_and_writes_a_picture(self, capsys, tmp_path):
        out = tmp_path / "demo.png"
        status, text, _ = run(capsys, "demo", "--out", out)
        assert status == 0
        scores = {line[:22].strip(): float(line[22:31]) for line in text.splitlines()[2:-1]}
        assert scores["nnk_image, sgw"] > scores["bilateral filter"] > scores["noisy"]
        assert str(out) in text
        with Image.open(out) as picture:
            assert picture.width > 1000

    def test_negative_sigma_is_refused(self, capsys, tmp_path):
        assert run(capsys, "demo", "--sigma", "-1", "--out", tmp_path / "d.png")[0] == 1


class TestProcess:
    def test_version_names_the_simd_variant_and_the_threads(self):
        done = process("--version")
        assert done.returncode == 0
        variant, n = nnk_image._core.simd_variant(), resolve_n_jobs(-1)
        expected = f"nnk-image {nnk_image.__version__} ({variant}, {n} thread{'s' * (n > 1)})\n"
        assert done.stdout == expected

    @pytest.mark.parametrize("arguments", [(), ("denoise",), ("denoise", "a", "b", "--sigma", "x")])
    def test_wrong_usage_has_exit_status_2(self, arguments):
        done = process(*arguments)
        assert done.returncode == 2
        assert "usage:" in done.stderr

    @pytest.mark.parametrize("command", COMMANDS)
    def test_help_has_examples(self, capsys, command):
        status, text, _ = run(capsys, command, "--help")
        assert status == 0
        assert f"examples:\n  nnk-image {command}" in text

    def test_help_lists_the_commands(self, capsys):
        status, text, _ = run(capsys, "--help")
        assert status == 0
        for command in COMMANDS:
            assert re.search(rf"^    {command}\b", text, re.M)

    def test_help_loads_nothing_heavy(self):
        code = (
            "import sys; from nnk_image.cli import main; main(['--help']); "
            "assert not {'scipy', 'pygsp', 'matplotlib', 'skimage'} & set(sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
