from nnk_image.compaction import energy_compaction as energy_compaction
from nnk_image.denoising import denoise as denoise
from nnk_image.denoising import estimate_sigma as estimate_sigma
from nnk_image.graph import ImageGraph as ImageGraph
from nnk_image.graph import bilateral_graph as bilateral_graph
from nnk_image.graph import image_graph as image_graph
from nnk_image.neighbors import Neighborhoods as Neighborhoods
from nnk_image.neighbors import nnk_graph as nnk_graph
from nnk_image.neighbors import nnk_neighbors as nnk_neighbors
from nnk_image.neighbors import nnk_weights as nnk_weights
from nnk_image.neighbors.classify import KStarNeighborsClassifier as KStarNeighborsClassifier
from nnk_image.neighbors.classify import NNKClassifier as NNKClassifier
from nnk_image.neighbors.means import NNKMeans as NNKMeans
from nnk_image.neighbors.means_classifier import NNKMeansClassifier as NNKMeansClassifier
from nnk_image.neighbors.regress import KStarNeighborsRegressor as KStarNeighborsRegressor
from nnk_image.neighbors.regress import NNKRegressor as NNKRegressor
from nnk_image.neighbors.transformer import NNKGraphTransformer as NNKGraphTransformer
from nnk_image.reading import standard_image as standard_image
from nnk_image.reading import standard_images as standard_images
from nnk_image.tiling import halo as halo
from nnk_image.wavelets import SpectralGraphWavelets as SpectralGraphWavelets

__version__: str
