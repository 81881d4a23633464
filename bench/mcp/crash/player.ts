/** A process of the crash matrix that is killed and started again. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export class Player {
  readonly #command: readonly string[];
  readonly #onLine: (line: string) => void;
  #child: ChildProcess | undefined;
  kills = 0;

  constructor(command: readonly string[], onLine: (line: string) => void = () => undefined) {
    this.#command = command;
    this.#onLine = onLine;
  }

  start(): void {
    const [command = '', ...args] = this.#command;
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#onLine(text));
    this.#child = child;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    this.kills += 1;
  }
}
