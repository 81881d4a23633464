import type { RuleMark } from '../../call/event.ts';

const none: readonly never[] = Object.freeze([]);

/** Remarks about one attempt, collected while its end is judged. The judgement takes both lists over. */
export class AttemptRemarks {
  /** For the model, besides the content of the outcome. */
  notes: readonly string[];
  /** What rules said about the output. */
  rules: readonly RuleMark[] = none;

  constructor(notes: readonly string[] = none) {
    this.notes = notes;
  }

  note(text: string): void {
    this.notes = [...this.notes, text];
  }
}
