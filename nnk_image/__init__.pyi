from nnk_image.configuration import show_config as show_config
from nnk_image.denoising import denoise as denoise
from nnk_image.denoising import denoise_tiles as denoise_tiles
from nnk_image.graph.build import bilateral_graph as bilateral_graph
from nnk_image.graph.build import image_graph as image_graph
from nnk_image.graph.pixel_graph import ImageGraph as ImageGraph
from nnk_image.io import standard_image as standard_image
from nnk_image.io import standard_images as standard_images
from nnk_image.learning.classify import KStarNeighborsClassifier as KStarNeighborsClassifier
from nnk_image.learning.classify import NNKClassifier as NNKClassifier
from nnk_image.learning.means import NNKMeans as NNKMeans
from nnk_image.learning.means_classifier import NNKMeansClassifier as NNKMeansClassifier
from nnk_image.learning.regress import KStarNeighborsRegressor as KStarNeighborsRegressor
from nnk_image.learning.regress import NNKRegressor as NNKRegressor
from nnk_image.learning.transformer import NNKGraphTransformer as NNKGraphTransformer
from nnk_image.neighbors import Neighborhoods as Neighborhoods
from nnk_image.neighbors import nnk_graph as nnk_graph
from nnk_image.neighbors import nnk_neighbors as nnk_neighbors
from nnk_image.neighbors import nnk_weights as nnk_weights
from nnk_image.noise import NoiseModel as NoiseModel
from nnk_image.noise import estimate_noise as estimate_noise
from nnk_image.noise import estimate_sigma as estimate_sigma
from nnk_image.wavelets.compaction import energy_compaction as energy_compaction
from nnk_image.wavelets.tiling import halo as halo
from nnk_image.wavelets.transform import SpectralGraphWavelets as SpectralGraphWavelets

__version__: str
