/** Shows how far a long command is: a bar on a terminal, a line now and then elsewhere. */
export interface Progress {
  step(count?: number): void;
  done(): void;
}

export function createProgress(label: string, total: number): Progress {
  const { stderr } = process;
  const startedAt = performance.now();
  let made = 0;
  let shownAt = -1;
  const draw = (): void => {
    const share = total === 0 ? 1 : made / total;
    if (stderr.isTTY) {
      const width = 30;
      const filled = Math.round(share * width);
      stderr.write(
        `\r${label.padEnd(24)} ${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${Math.round(share * 100)}%`,
      );
    } else if (Math.floor(share * 4) > shownAt) {
      shownAt = Math.floor(share * 4);
      stderr.write(`${label}: ${Math.round(share * 100)}%\n`);
    }
  };
  return {
    step(count = 1) {
      made += count;
      draw();
    },
    done() {
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      stderr.write(stderr.isTTY ? `\r\u001B[K${label}: ${seconds} s\n` : `${label}: done in ${seconds} s\n`);
    },
  };
}
