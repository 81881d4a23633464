/** The processes of the chaos run: starts them, replaces ended ones, and ends them in an orderly way. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Errand, Order, Said } from './errand.ts';
import type { Watch } from './watch.ts';

export type Member = {
  readonly name: string;
  readonly ownerId: string;
  /** Is it under a disturbance that will be undone? */
  isBusy: boolean;
  order(order: Order): void;
  stop(): void;
  goOn(): void;
  kill(): Promise<void>;
  close(): Promise<void>;
};

export type TroupeOptions = {
  readonly folder: string;
  readonly ledger: string;
  readonly random: (below: number) => number;
  readonly processes: number;
  readonly watch: Watch;
  readonly onProblem: (text: string) => void;
};

/** Few enough that a process can use them all. */
const mostDescriptors = 160;
/** Longer than any call, confirmation or hand-off of the run takes. */
const closingMs = 120_000;

export class Troupe {
  readonly members: Set<Member> = new Set();
  readonly toldFiles: string[] = [];
  readonly effectFiles: string[] = [];
  readonly #options: TroupeOptions;
  /** Pending ends of disturbances. */
  readonly #undoing = new Set<Promise<void>>();
  lives = 0;

  constructor(options: TroupeOptions) {
    this.#options = options;
  }

  /** Starts processes until their number is complete. */
  async fill(): Promise<void> {
    const missing = this.#options.processes - this.members.size;
    await Promise.all(Array.from({ length: missing }, () => this.#start()));
  }

  /** Undoes something later, at the latest before the processes are closed. */
  later(member: Member, afterMs: number, undo: () => void): void {
    member.isBusy = true;
    const undoing = new Promise<void>((resolve) => setTimeout(resolve, afterMs)).then(() => {
      undo();
      member.isBusy = false;
      this.#undoing.delete(undoing);
    });
    this.#undoing.add(undoing);
  }

  async close(): Promise<void> {
    await Promise.all(this.#undoing);
    await Promise.all([...this.members].map((member) => member.close()));
  }

  async #start(): Promise<void> {
    const { folder, ledger, random, watch, onProblem } = this.#options;
    const name = `p${this.lives++}`;
    const errand: Errand = {
      ledger,
      name,
      seed: random(1_000_000_000),
      told: join(folder, `${name}.told`),
      effects: join(folder, `${name}.effects`),
    };
    for (const file of [errand.told, errand.effects]) closeSync(openSync(file, 'a'));
    this.toldFiles.push(errand.told);
    this.effectFiles.push(errand.effects);
    const child = spawn(
      'sh',
      [
        '-c',
        `ulimit -n ${mostDescriptors}; exec "$0" "$@"`,
        process.execPath,
        '--conditions=quittance-source',
        join(import.meta.dirname, 'child.ts'),
        JSON.stringify(errand),
      ],
      // A separate group, because Ctrl-C is for the parent process.
      { stdio: ['ignore', 'inherit', 'pipe', 'ipc'], detached: true },
    );
    let words = '';
    child.stderr?.on('data', (data: Buffer) => (words = (words + data.toString()).slice(-4_000)));
    const exit = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const said = Promise.withResolvers<string | undefined>();
    child.on('message', (message) => {
      const heard = message as Said;
      if (heard.type === 'ready') said.resolve(heard.ownerId);
      else onProblem(`${name}: ${heard.where}: a bare error reached a caller: ${heard.error}`);
    });
    let expected: 'nothing' | 'SIGKILL' | 'exit 0' = 'nothing';
    const gone = exit.then(([code, signal]) => {
      const how = signal ?? `exit ${code}`;
      if (how !== expected) onProblem(`${name} ended with ${how}, expected ${expected}: ${words}`);
      this.members.delete(member);
      said.resolve(undefined);
    });
    const ownerId = await said.promise;
    const end = async (how: 'SIGKILL' | 'exit 0'): Promise<void> => {
      expected = how;
      if (ownerId !== undefined) await watch.noteEnd(ownerId);
    };
    const member: Member = {
      name,
      ownerId: ownerId ?? '',
      isBusy: false,
      order: (order) => send(child, order),
      stop: () => void child.kill('SIGSTOP'),
      goOn: () => void child.kill('SIGCONT'),
      kill: async () => {
        await end('SIGKILL');
        child.kill('SIGKILL');
        await gone;
      },
      close: async () => {
        await end('exit 0');
        send(child, { type: 'close' });
        const timer = setTimeout(() => {
          onProblem(`${name} does not close`);
          child.kill('SIGKILL');
        }, closingMs);
        await gone;
        clearTimeout(timer);
      },
    };
    if (ownerId !== undefined) this.members.add(member);
  }
}

/** A process that was just killed receives nothing. */
function send(child: ChildProcess, order: Order): void {
  if (child.connected) child.send(order, () => undefined);
}
