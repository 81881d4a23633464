/**
 * Appends wait until the positions of new behaviors are stored. So a behavior gets every event that is stored after its
 * registration. This holds even if the process is killed before the behavior has read anything.
 */
export class AppendGate {
  /** Undefined if nothing is to wait for, as nearly always. */
  opening: Promise<unknown> | undefined;

  /** Appends wait until this is settled. */
  closeUntil(opened: Promise<void>): void {
    const opening = Promise.all([this.opening, opened]).finally(() => {
      if (this.opening === opening) this.opening = undefined;
    });
    this.opening = opening;
  }
}
