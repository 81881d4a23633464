import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { ToolOutcome } from 'quittance/internal/call/outcome';
import { outcomeIsError } from 'quittance/internal/call/outcome';
import { outcomeToModelContent } from 'quittance/internal/call/model-content';
import { isAltered, readStoredArtifact } from 'quittance/internal/runtime/stored-artifact';

/** A file of an answer. */
export type AnswerFile = {
  readonly artifactId: string;
  readonly mimeType: string;
  readonly name: string | undefined;
  readonly content: Uint8Array | string;
};

/** The parts of an answer for the model; each framework combines them in its own way. */
export type Answer = {
  readonly type: 'answer';
  readonly outcome: ToolOutcome;
  /** The tabled content, byte for byte as stored. */
  readonly content: string;
  /** Additional facts for the model: a separate part, never mixed into the content. */
  readonly note: string | undefined;
  readonly files: readonly AnswerFile[];
  /** For frameworks with an error flag. A denial is not an error: the call was refused as intended. */
  readonly isError: boolean;
};

/** The answer to a call. Missing or changed files are left out. */
export async function toAnswer(ledger: OpenLedger, sessionId: string, outcome: ToolOutcome): Promise<Answer> {
  const files: AnswerFile[] = [];
  for (const { artifactId, mimeType, name } of ('files' in outcome && outcome.files) || []) {
    const artifact = await readStoredArtifact(ledger, sessionId, artifactId).catch((error: unknown) => {
      if (isAltered(error)) return undefined;
      throw error;
    });
    if (artifact?.content !== undefined)
      files.push({ artifactId, mimeType, name, content: artifact.content });
  }
  return {
    type: 'answer',
    outcome,
    content: outcomeToModelContent(outcome),
    note: outcome.modelNote,
    files,
    isError: outcomeIsError(outcome),
  };
}
