/** What the threads of a process tell each other about the log of a ledger, in shared memory. */
const [isKept, isRestartDue, isAsleep] = [0, 1, 2];

export class LogState {
  readonly memory: SharedArrayBuffer;
  readonly #flags: Int32Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(12)) {
    this.memory = memory;
    this.#flags = new Int32Array(memory);
  }

  /** Does a thread keep the log short? Otherwise each writer does it in its own commits. */
  get isKept(): boolean {
    return Atomics.load(this.#flags, isKept) === 1;
  }

  set isKept(value: boolean) {
    Atomics.store(this.#flags, isKept, value ? 1 : 0);
  }

  /** Is nearly all of the log in the file, so that a writer that copies the rest can start it anew? */
  get isRestartDue(): boolean {
    return Atomics.load(this.#flags, isRestartDue) === 1;
  }

  set isRestartDue(value: boolean) {
    Atomics.store(this.#flags, isRestartDue, value ? 1 : 0);
  }

  /** Has the thread found nothing to do for a while? Then it waits for a message. */
  get isAsleep(): boolean {
    return Atomics.load(this.#flags, isAsleep) === 1;
  }

  set isAsleep(value: boolean) {
    Atomics.store(this.#flags, isAsleep, value ? 1 : 0);
  }
}
