import type { RuleMark } from '../../call/event.ts';

const none: readonly never[] = Object.freeze([]);

/** Remarks about one attempt, collected while its end is judged. The judgement takes both lists. */
export class AttemptRemarks {
  /** For the model, in addition to the content of the outcome. */
  notes: readonly string[];
  /** Rulings about the output. */
  rules: readonly RuleMark[] = none;

  constructor(notes: readonly string[] = none) {
    this.notes = notes;
  }

  note(text: string): void {
    this.notes = [...this.notes, text];
  }
}
