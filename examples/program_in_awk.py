# %% [markdown]
# # A program in another language
#
# Your simulator is a program in another language? `cr.Program` makes an arm of it. Here the arms are programs in awk, which every Unix has; a program in C, Fortran or R works the same way. The program takes a number of draws and a seed, and prints one value per line.
#
# croupier replaces `{size}` and `{seed}` in the command. Every batch has its own seed, so the run can be repeated. A call makes many draws, because to start a program costs a millisecond or more.
#
# The problem is Buffon's: a needle of length 1 falls on a floor with lines at distance 1. The number of lines that it crosses has the mean 2/π. A cross of two needles has twice this mean, so half of its count is an arm, too. And given the angle, the mean over all places is known: it is the height of the needle.
#
# It takes 4 seconds, and it needs awk.

# %%
import matplotlib.pyplot as plt
import numpy as np

import croupier as cr

# The place of the centre is u, the angle is v; `crossed` counts the lines between both ends.
START = "function floor(x) { return x < 0 ? int(x) - (x < int(x)) : int(x) } "
START += "function abs(x) { return x < 0 ? -x : x } "
START += "function crossed(u, h) { return abs(floor(u + h) - floor(u - h)) } "
START += "BEGIN { srand({seed}); pi = atan2(0, -1); for (i = 0; i < {size}; i++) { u = rand(); v = pi * rand(); "
PROGRAMS = {
    "needle": "print crossed(u, sin(v) / 2)",
    "cross": "print (crossed(u, sin(v) / 2) + crossed(u, cos(v) / 2)) / 2",
    "only the angle": "print sin(v)",
    "angle and its mirror": "print (abs(sin(v)) + abs(cos(v))) / 2",
}


arms = {name: cr.Program(["awk", START + line + " } }"]) for name, line in PROGRAMS.items()}
result = cr.estimate(arms, draws=200_000, batch=100, rng=7)
print(result)

# %% [markdown]
# `batch=100` makes the first call of each program a call of 100 draws instead of one draw.
#
# ## The known answer

# %%
known = 2 / np.pi
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.6f} (closed form); {away:.1f} standard errors away")

# %%
rng = np.random.default_rng(7)
figure, (left, other) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for line in range(6):
    left.axhline(line, color="#999999", linewidth=1)
for x, y, angle in zip(
    rng.uniform(0, 8, 60), rng.uniform(0, 5, 60), rng.uniform(0, np.pi, 60), strict=True
):
    dx, dy = np.cos(angle) / 2, np.sin(angle) / 2
    crosses = np.floor(y + dy) != np.floor(y - dy)
    left.plot([x - dx, x + dx], [y - dy, y + dy], color="#D55E00" if crosses else "#0072B2")
left.set(aspect="equal", xticks=[], yticks=[], title="needles that cross a line")
names = [row.name for row in result.arms]
other.barh(names, [row.efficiency or 0 for row in result.arms], color="#0072B2")
other.set(title="efficiency of each program")
figure.savefig("program_in_awk.png")
