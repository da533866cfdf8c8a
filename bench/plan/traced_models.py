"""Training steps of models that nothing in the planner was tuned on, for tools/problem_from_torch.py (docs/planners.md has what comes of them):

    PYTHONPATH=bench/plan python3 tools/problem_from_torch.py traced_models:t5 -o t5.json

Those of Hugging Face need the package transformers (5.17 was used, with PyTorch 2.11); nothing is downloaded, weights are never made.
"""
import torch
from torch import nn


class Called(nn.Module):
    """A model whose tensors come in by position and whose result is one tensor."""

    def __init__(self, model, call):
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *inputs):
        return self.call(self.model, *inputs)


def log_likelihood(out):
    return -torch.log_softmax(out.float(), -1)[..., 0].mean()


def ids(batch, length):
    return torch.zeros(batch, length, dtype=torch.long)


def images(batch, size):
    return torch.zeros(batch, 3, size, size)


def of_transformers(model, config, call, inputs, parts=(), **sizes):
    """`parts`: fields of the configuration that have one of their own."""
    import transformers
    config = getattr(transformers, config)(**sizes)
    for part in [config, *(getattr(config, name) for name in parts)]:
        part._attn_implementation = "eager"
    return Called(getattr(transformers, model)(config), call), inputs, log_likelihood


def t5():
    return of_transformers("T5ForConditionalGeneration", "T5Config", lambda m, x, y: m(input_ids=x, decoder_input_ids=y, use_cache=False).logits,
                           [ids(16, 512), ids(16, 128)], d_model=768, d_ff=3072, num_layers=12, num_heads=12, d_kv=64)


def bart():
    return of_transformers("BartForConditionalGeneration", "BartConfig", lambda m, x, y: m(input_ids=x, decoder_input_ids=y, use_cache=False).logits,
                           [ids(16, 512), ids(16, 256)], encoder_layers=6, decoder_layers=6, d_model=768, encoder_ffn_dim=3072, decoder_ffn_dim=3072,
                           encoder_attention_heads=12, decoder_attention_heads=12)


def distilbert():
    return of_transformers("DistilBertForMaskedLM", "DistilBertConfig", lambda m, x: m(input_ids=x).logits, [ids(32, 256)])


def clip():
    return of_transformers("CLIPModel", "CLIPConfig", lambda m, x, y: m(input_ids=x, pixel_values=y).logits_per_image, [ids(128, 77), images(128, 224)],
                           parts=("text_config", "vision_config"))


def wav2vec2():
    return of_transformers("Wav2Vec2Model", "Wav2Vec2Config", lambda m, x: m(input_values=x).last_hidden_state, [torch.zeros(8, 160_000)],
                           apply_spec_augment=False, layerdrop=0.0)


def mamba():
    return of_transformers("MambaForCausalLM", "MambaConfig", lambda m, x: m(input_ids=x, use_cache=False).logits, [ids(8, 128)],
                           hidden_size=768, num_hidden_layers=4, vocab_size=50280)


def segformer():
    return of_transformers("SegformerForSemanticSegmentation", "SegformerConfig", lambda m, x: m(pixel_values=x).logits.transpose(1, 3), [images(8, 512)],
                           depths=[3, 4, 6, 3], hidden_sizes=[64, 128, 320, 512], decoder_hidden_size=768, num_labels=150)


def dpt():
    return of_transformers("DPTForDepthEstimation", "DPTConfig", lambda m, x: m(pixel_values=x).predicted_depth, [images(4, 384)])


def convnextv2():
    return of_transformers("ConvNextV2ForImageClassification", "ConvNextV2Config", lambda m, x: m(pixel_values=x).logits, [images(64, 224)],
                           depths=[3, 3, 9, 3])


def mobilevit():
    return of_transformers("MobileViTForImageClassification", "MobileViTConfig", lambda m, x: m(pixel_values=x).logits, [images(64, 256)])


class Pyramid(nn.Module):
    """A backbone, a feature pyramid on it and three heads that all levels share, as detectors have."""

    def __init__(self, widths=(32, 64, 128, 256, 512), inside=128, heads=(80, 4, 1)):
        super().__init__()

        def stage(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(8, b), nn.SiLU(), nn.Conv2d(b, b, 3, 1, 1), nn.GroupNorm(8, b), nn.SiLU())

        def head(out):
            layers = [layer for _ in range(4) for layer in (nn.Conv2d(inside, inside, 3, 1, 1), nn.ReLU())]
            return nn.Sequential(*layers, nn.Conv2d(inside, out, 1))

        self.stages = nn.ModuleList(stage(a, b) for a, b in zip((3, *widths), widths))
        self.sideways = nn.ModuleList(nn.Conv2d(width, inside, 1) for width in widths)
        self.heads = nn.ModuleList(head(out) for out in heads)

    def forward(self, x):
        levels = []
        for stage, sideways in zip(self.stages, self.sideways):
            x = stage(x)
            levels.append(sideways(x))
        for i in range(len(levels) - 2, -1, -1):
            levels[i] = levels[i] + nn.functional.interpolate(levels[i + 1], scale_factor=2.0, mode="nearest")
        return torch.cat([torch.cat([head(level) for head in self.heads], 1).flatten(2) for level in levels[1:]], 2)


def pyramid():
    return Pyramid(), [images(8, 512)], log_likelihood


class Residual(nn.Module):
    def __init__(self, a, b, time):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(8, a), nn.GroupNorm(8, b)])
        self.convolutions = nn.ModuleList([nn.Conv2d(a, b, 3, 1, 1), nn.Conv2d(b, b, 3, 1, 1)])
        self.time, self.skip = nn.Linear(time, b), nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, t):
        h = self.convolutions[0](nn.functional.silu(self.norms[0](x))) + self.time(t)[:, :, None, None]
        return self.convolutions[1](nn.functional.silu(self.norms[1](h))) + self.skip(x)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.into, self.out = nn.GroupNorm(8, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.into(self.norm(x)).reshape(b, 3, c, h * w).unbind(1)
        weights = torch.softmax(q.transpose(1, 2) @ k / c**0.5, -1)
        return x + self.out((v @ weights.transpose(1, 2)).reshape(b, c, h, w))


class Diffusion(nn.Module):
    """A U-Net as denoising diffusion models have: two blocks a level down, three up, attention at the two smallest."""

    def __init__(self, widths=(64, 128, 256, 256), time=256):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, widths[0], 3, 1, 1), nn.Conv2d(widths[0], 3, 3, 1, 1)
        self.time = nn.Sequential(nn.Linear(64, time), nn.SiLU(), nn.Linear(time, time))
        self.down, self.up, width, skips = nn.ModuleList(), nn.ModuleList(), widths[0], [widths[0]]

        def block(a, b, level):
            return nn.ModuleList([Residual(a, b, time), Attention(b) if level >= 2 else nn.Identity()])

        for level, b in enumerate(widths):
            for _ in range(2):
                self.down.append(block(width, b, level))
                width = b
                skips.append(width)
            if level < len(widths) - 1:
                self.down.append(nn.Conv2d(width, width, 3, 2, 1))
                skips.append(width)
        self.middle = nn.ModuleList([Residual(width, width, time), Attention(width), Residual(width, width, time)])
        for level, b in reversed(list(enumerate(widths))):
            for _ in range(3):
                self.up.append(block(width + skips.pop(), b, level))
                width = b
            if level > 0:
                self.up.append(nn.Conv2d(width, width, 3, 1, 1))

    def forward(self, x, t):
        t, x = self.time(t), self.first(x)
        skips = [x]
        for part in self.down:
            x = part(x) if isinstance(part, nn.Conv2d) else part[1](part[0](x, t))
            skips.append(x)
        x = self.middle[2](self.middle[1](self.middle[0](x, t)), t)
        for part in self.up:
            if isinstance(part, nn.Conv2d):
                x = part(nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"))
            else:
                x = part[1](part[0](torch.cat([x, skips.pop()], 1), t))
        return self.last(x)


def diffusion():
    return Diffusion(), [images(16, 64), torch.zeros(16, 64)], lambda out: out.square().mean()
