"""The values that a file gives to names."""

from tirlens.source import read


def test_hints_are_the_literals_of_the_file_the_likeliest_first() -> None:
    text = """
BATCH = 2
def main(batch=16, heads=64):
    parser.add_argument("--seq-len", type=int, default=2048)
    M, N = 1024, 512
    run(batch=4, dtype=T.float16, scale=-0.5, configs=[1], other=unknown)
def get():
    return [{"block_M": [64, 128]}]
"""
    hints = read(text).literal_values
    assert hints["batch"] == ("4", "16")
    assert hints["seq_len"] == ("2048",)
    assert (hints["M"], hints["N"]) == (("1024",), ("512",))
    assert hints["dtype"] == ("T.float16",)
    assert hints["scale"] == ("-0.5",)
    assert hints["block_M"] == ("64",)
    assert "other" not in hints


def test_an_option_of_somebody_elses_function_is_no_hint() -> None:
    text = "y = x.sum(dim=-1)\nz = torch.softmax(x, dim=2)\nk = kernel(dim=64)\n"
    assert read(text).literal_values["dim"] == ("64",)
