# tidemark train: what it prints, checkpoints, resuming to the bit, Ctrl-C, data files. Usage: train_test.py PROGRAM SOURCE.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import resource
import signal
import struct
import subprocess
import time
import zlib

from program import DONE, INTERRUPTED, NO, PROGRAM, WRONG, Cli, main

GPT = ["gpt2-124m", "--batch", "4", "--seq", "16", "--set", "width=16,depth=2,heads=2,positions=16", "--model-threads", "1", "--time", "50ms"]
MLP = ["mlp", "--batch", "8", "--set", "inputs=64,hidden=16", "--model-threads", "1", "--time", "50ms"]
NET = ["resnet18", "--batch", "2", "--size", "32", "--set", "width=4,blocks1=1,blocks2=1,blocks3=1,blocks4=1", "--model-threads", "1", "--time", "50ms"]


class Train(Cli):
    def contents(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def test_the_loss_falls(self):
        lines = self.json_of("train", "train", *GPT, "--steps", "60", "--print", "20", "--rate", "0.01", "--budget", "min")
        self.assertEqual([line["step"] for line in lines], [1, 20, 40, 60])
        self.assertLess(lines[-1]["loss"], 0.8 * lines[0]["loss"])
        out = self.run_it("train", *GPT, "--steps", "2", "--budget", "min").stdout
        for words in ["step ", "loss", "samples/s", "peak", "predicted", "vocab=256"]:
            self.assertIn(words, out)

    def test_a_resumed_run_has_the_same_bits(self):
        for model, extra in [(GPT, ["--clip", "1"]), (NET, ["--optimizer", "sgd", "--rate", "0.01"])]:
            whole, parts = self.path("whole.safetensors"), self.path("parts.safetensors")
            self.run_it("train", *model, *extra, "--steps", "6", "--budget", "min", "--checkpoint", whole)
            self.run_it("train", *model, *extra, "--steps", "3", "--checkpoint", parts)
            out = self.run_it("train", *model, *extra, "--steps", "6", "--budget", "120%", "--resume", parts)
            self.assertIn("at step 3", out.stdout)
            self.assertNotIn("not the run", out.stderr)
            self.assertEqual(self.contents("whole.safetensors"), self.contents("parts.safetensors"))
            self.says(WRONG, "keeps its seed", "train", *model, *extra, "--steps", "7", "--resume", parts, "--seed", "5")
            self.run_it("train", *model, *extra, "--steps", "7", "--resume", parts, "--seed", "0")
        self.says(WRONG, "without --checkpoint", "train", *MLP, "--steps", "1", "--every", "2")

    def test_a_checkpoint_is_a_safetensors_file(self):
        path = self.path("a.safetensors")
        self.run_it("train", *MLP, "--steps", "1", "--checkpoint", path)
        raw = self.contents("a.safetensors")
        header = json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])
        self.assertEqual(header["layers.0.weight" if "layers.0.weight" in header else sorted(header)[1]]["dtype"], "F32")
        self.assertEqual(header["__metadata__"]["step"], "1")
        self.assertEqual(max(v["data_offsets"][1] for k, v in header.items() if k != "__metadata__"), len(raw) - 8 - struct.unpack("<Q", raw[:8])[0])

    def test_interrupt_keeps_a_whole_checkpoint(self):
        stopped, whole = self.path("stopped.safetensors"), self.path("whole.safetensors")
        args = ["--every", "5", "--checkpoint", stopped]
        code, out, err = self.interrupt("train", *GPT, "--steps", "1000000", *args, when=lambda: os.path.exists(stopped))
        self.assertEqual(code, INTERRUPTED, (out, err))
        self.assertIn("the checkpoint is whole", err)
        step = int(err.split("after step ")[1].split(";")[0])
        self.run_it("train", *GPT, "--steps", str(step + 2), "--resume", stopped)
        self.run_it("train", *GPT, "--steps", str(step + 2), "--checkpoint", whole)
        self.assertEqual(self.contents("stopped.safetensors"), self.contents("whole.safetensors"))

    def test_a_killed_run_leaves_a_whole_checkpoint(self):
        path, whole = self.path("killed.safetensors"), self.path("whole.safetensors")
        for _ in range(4):
            process = subprocess.Popen([PROGRAM, "train", *GPT, "--steps", "1000000", "--every", "1", "--checkpoint", path], stdout=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            for _ in range(1200):
                if os.path.exists(path):
                    break
                time.sleep(0.02)
            time.sleep(0.05)
            process.kill()
            process.wait()
            raw = self.contents("killed.safetensors")
            step = int(json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])["__metadata__"]["step"])
            self.run_it("train", *GPT, "--steps", str(step + 1), "--resume", path)
            self.run_it("train", *GPT, "--steps", str(step + 1), "--checkpoint", whole)
            self.assertEqual(self.contents("killed.safetensors"), self.contents("whole.safetensors"))
            os.remove(path)

    def test_no_room_for_a_checkpoint(self):
        path = self.path("a.safetensors")
        self.run_it("train", *GPT, "--steps", "1", "--checkpoint", path)
        before = self.contents("a.safetensors")
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)     # writing then fails, as on a full disk
        result = subprocess.run([PROGRAM, "train", *GPT, "--steps", "3", "--resume", path], capture_output=True, text=True,
                                preexec_fn=small_files, restore_signals=False, timeout=120)
        self.assertEqual(result.returncode, WRONG, result.stderr)
        self.assertIn("cannot write", result.stderr)
        self.assertEqual(self.contents("a.safetensors"), before)
        self.assertFalse(os.path.exists(path + ".partial"))

    def test_interrupted_json_is_whole(self):
        path = self.path("c.safetensors")
        code, out, _ = self.interrupt("train", *MLP, "--steps", "100000000", "--every", "5", "--checkpoint", path, "--json", when=lambda: os.path.exists(path))
        self.assertEqual(code, INTERRUPTED)
        self.assertGreaterEqual(len(json.loads(out)), 1)

    def test_data(self):
        text = self.file("words.txt", "to be or not to be, that is the question. " * 20)
        self.says(DONE, "bytes of text", "train", *GPT, "--steps", "1", "--data", text)
        self.says(DONE, "bytes of text", "train", *GPT, "--steps", "1", "--data", self.folder.name)
        bert = ["bert-base", "--batch", "2", "--seq", "8", "--set", "width=8,depth=1,heads=2,hidden=8,positions=8", "--time", "50ms"]
        self.says(DONE, "vocab=257", "train", *bert, "--steps", "1", "--data", text)
        self.says(DONE, "synthetic", "train", "lstm", "--batch", "2", "--seq", "4", "--set", "hidden=8", "--steps", "1", "--time", "50ms")
        folder = self.path("mnist")
        os.mkdir(folder)
        images = os.path.join(folder, "train-images-idx3-ubyte")
        with open(images, "wb") as f:
            f.write(struct.pack(">IIII", 0x803, 3, 8, 8) + bytes(range(192)))
        with open(os.path.join(folder, "train-labels-idx1-ubyte"), "wb") as f:
            f.write(struct.pack(">II", 0x801, 3) + bytes([0, 4, 2]))
        self.says(DONE, "classes=5", "train", *MLP, "--steps", "1", "--data", folder)
        self.says(DONE, "3 pictures", "train", *NET, "--steps", "1", "--data", images)
        self.says(WRONG, "--set classes=5", "train", "mlp", "--set", "inputs=64,classes=2", "--steps", "1", "--data", folder)
        cifar = self.path("data_batch_1.bin")
        with open(cifar, "wb") as f:
            f.write((bytes([7]) + bytes(3072)) * 2)
        self.says(DONE, "classes=8", "train", *NET, "--steps", "1", "--data", cifar)
        kinds = self.path("kinds")
        for kind in ("cat", "dog"):
            os.makedirs(os.path.join(kinds, kind))
            with open(os.path.join(kinds, kind, "1.ppm"), "wb") as f:
                f.write(b"P6 2 2 255\n" + bytes(12))
        self.says(DONE, "2 classes", "train", *NET, "--steps", "1", "--data", kinds)
        unet = ["unet", "--batch", "1", "--size", "16", "--set", "width=2,depth=2", "--time", "50ms"]
        self.says(DONE, "drawn shapes", "train", *unet, "--steps", "1")
        self.says(WRONG, "every pixel", "train", *unet, "--steps", "1", "--data", kinds)

    def test_png_and_jpeg(self):
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)) +
               chunk(b"IDAT", zlib.compress((b"\0" + bytes([255, 0, 0, 0, 255, 0])) * 2)) + chunk(b"IEND", b""))
        jpeg = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffdb0043000302020302020303030304030304050805050404050a070706080c0a0c0c0b"
                             "0a0b0b0d0e12100d0e110e0b0b1016101113141515150c0f171816141812141514ffc0000b080002000201011100ffc400140001000000"
                             "00000000000000000000000008ffc40014100100000000000000000000000000000000ffda0008010100003f00603fffd9")
        for name, data in [("a.png", png), ("b.jpg", jpeg)]:
            folder = self.path(name + ".d")
            os.makedirs(os.path.join(folder, "one"))
            picture = os.path.join(folder, "one", name)
            with open(picture, "wb") as f:
                f.write(data)
            args = ["train", *NET, "--steps", "1", "--data", folder]
            result = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120)
            if "built without" in result.stderr:
                print("SKIPPED:", result.stderr.strip())
                continue
            self.assertIn("1 pictures of 1 classes", result.stdout, result.stderr)
            for size in (0, 20, len(data) - 20):
                with open(picture, "wb") as f:
                    f.write(data[:size])
                self.says(WRONG, name, *args)

    def test_wrong_data(self):
        self.says(WRONG, "missing.txt", "train", *GPT, "--data", self.path("missing.txt"))
        self.says(WRONG, "no such file", "train", *NET, "--data", self.path("missing"))
        self.says(WRONG, "neither", "train", *NET, "--data", self.file("words.txt", "words"))
        self.says(WRONG, "windows of 16 tokens", "train", *GPT, "--data", self.file("short.txt", "short"))
        with open(self.path("cut.bin"), "wb") as f:
            f.write(bytes(100))
        self.says(WRONG, "truncated", "train", *NET, "--data", self.path("cut.bin"))
        self.says(WRONG, "no text", "train", *GPT, "--data", self.file("empty.txt", ""))

    def test_wrong_checkpoints(self):
        path = self.path("a.safetensors")
        self.says(WRONG, "missing", "train", *MLP, "--resume", self.path("missing.safetensors"))
        # Said before anything is planned: this budget would be refused.
        self.says(WRONG, "missing", "train", *MLP, "--budget", "1KiB", "--resume", self.path("missing.safetensors"))
        self.says(WRONG, "is not a folder", "train", *MLP, "--checkpoint", self.path("no/a.safetensors"))
        self.run_it("train", *MLP, "--steps", "2", "--checkpoint", path)
        whole = self.contents("a.safetensors")
        with open(path, "wb") as f:
            f.write(whole[:-10])
        self.says(WRONG, "truncated", "train", *MLP, "--steps", "4", "--resume", path)
        self.says(WRONG, "safetensors", "train", *MLP, "--steps", "4", "--resume", self.file("garbage.safetensors", "garbage that is no checkpoint"))
        with open(path, "wb") as f:
            f.write(whole)
        self.says(WRONG, "the same --set", "train", "mlp", "--batch", "8", "--set", "inputs=64,hidden=24", "--resume", path)
        self.says(WRONG, "--optimizer", "train", *MLP, "--optimizer", "sgd", "--resume", path)
        self.says(DONE, "rate was", "train", *MLP, "--rate", "0.5", "--steps", "3", "--resume", path)

    def test_wrong_use(self):
        self.says(NO, "does not fit", "train", *MLP, "--budget", "10KiB")
        self.says(WRONG, "--steps", "train", *MLP, "--steps", "0")
        self.says(WRONG, "--rate", "train", *MLP, "--rate", "-1")
        self.says(WRONG, "--every", "train", *MLP, "--every", "0")
        self.says(NO, "lower --rate", "train", *GPT, "--rate", "1e30", "--steps", "50")


if __name__ == "__main__":
    main()
