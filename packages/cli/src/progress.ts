/** Shows the progress of a long command: a bar on a terminal, else a line from time to time. */
export interface ProgressBar {
  step(count?: number): void;
  /** Removes the bar. For a long run it prints the duration. */
  done(): void;
}

/** The part of a stream that is needed. */
type Screen = { readonly isTTY?: boolean; write(text: string): unknown };

const redrawEveryMs = 60;
const lineEveryMs = 5_000;

export function createProgress(label: string, total: number, screen: Screen): ProgressBar {
  const startedAt = performance.now();
  let made = 0;
  let shownAt = startedAt;
  let shown = false;
  const draw = (): void => {
    const now = performance.now();
    const isTTY = screen.isTTY === true;
    if (now - shownAt < (isTTY ? redrawEveryMs : lineEveryMs)) return;
    shownAt = now;
    shown = true;
    const share = total === 0 ? 1 : Math.min(1, made / total);
    const width = 30;
    const filled = Math.round(share * width);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
    const percent = `${Math.floor(share * 100)}%`;
    screen.write(isTTY ? `\r${label.padEnd(12)} ${bar} ${percent}\u001B[K` : `${label}: ${percent}\n`);
  };
  return {
    step(count = 1) {
      made += count;
      draw();
    },
    done() {
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      if (!shown) return;
      screen.write(screen.isTTY === true ? '\r\u001B[K' : `${label}: done in ${seconds} s\n`);
    },
  };
}
