/**
 * Reads the answer of a person from a Mastra run that stopped for an approval.
 *
 * The answer arrives as `resumeData`, but so does any model argument of that name: Mastra takes it out of the
 * arguments and prefers it. A model must never be able to approve. Before Mastra runs a tool, it announces the
 * arguments as the model wrote them, which distinguishes the two. Resume data counts only if every announcement of
 * the call lacked that argument.
 */
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import type { JsonObject } from 'quittance/internal/base/json';

/** The answer of a person. */
export type MastraAnswer = {
  readonly approved: boolean;
  readonly reason: string | undefined;
  /** Its confirmation, if known. */
  readonly confirmationId: string | undefined;
};

export interface Announcements {
  /** Stores the arguments that Mastra announces. */
  add(toolCallId: string, input: unknown): void;
  /** Removes and returns the announcement of a call that is made now. */
  take(toolCallId: string): Announced;
}

export type Announced = {
  /** Does the resume data come from a person, not from the model? */
  readonly isOfPerson: boolean;
  /** Time of the announcement. Undefined if there was none. */
  readonly at: number | undefined;
};

/** Counts the announcements whose call has not been made yet. Ids come from providers, so two runs may share one. */
export function createAnnouncements(clock: () => number): Announcements {
  const open = new Map<string, { clean: number; written: number; readonly at: number[] }>();
  return {
    add(toolCallId, input) {
      const counts = open.get(toolCallId) ?? { clean: 0, written: 0, at: [] };
      counts.at.push(clock());
      if (isJsonObject(input) && 'resumeData' in input) counts.written++;
      else counts.clean++;
      const [oldest] = open.keys();
      // Announced calls that were never made must be limited.
      if (open.size >= 1_000 && oldest !== undefined && !open.has(toolCallId)) open.delete(oldest);
      open.set(toolCallId, counts);
    },
    take(toolCallId) {
      const counts = open.get(toolCallId);
      if (counts === undefined) return { isOfPerson: false, at: undefined };
      const isOfPerson = counts.written === 0;
      const at = counts.at.shift();
      if (counts.clean > 0) counts.clean--;
      else counts.written--;
      if (counts.clean + counts.written === 0) open.delete(toolCallId);
      return { isOfPerson, at };
    },
  };
}

/** Reads an answer; undefined if the data is neither yes nor no. */
export function readMastraAnswer(resumeData: unknown, suspendPayload: unknown): MastraAnswer | undefined {
  if (!isJsonObject(resumeData)) return undefined;
  const approved = ownValue(resumeData, 'approved');
  if (typeof approved !== 'boolean') return undefined;
  const reason = ownValue(resumeData, 'reason');
  const asked = isJsonObject(suspendPayload) ? ownValue(suspendPayload, 'confirmationId') : undefined;
  const about = ownValue(resumeData, 'confirmationId') ?? asked;
  return {
    approved,
    reason: typeof reason === 'string' ? reason : undefined,
    // A value that is not an id matches no confirmation.
    confirmationId: about === undefined || typeof about === 'string' ? about : '',
  };
}

/** Shows a shape and accepts everything: Quittance reports problems itself. */
export const openMastraSchema = (shape: JsonObject): object => {
  // Mastra modifies the schema for some providers.
  const written = (): JsonObject => structuredClone(shape);
  return {
    '~standard': {
      version: 1,
      vendor: 'quittance',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: written, output: written },
    },
  };
};

/** The suspend payload of a run. */
export type MastraQuestion = {
  /** Null if no person is asked and another process still runs the call. */
  readonly confirmationId: string | null;
  readonly callId: string;
  readonly toolName: string;
  /** The question for the person. */
  readonly description: string;
};

const text = { type: 'string' };

export const questionShape: JsonObject = {
  type: 'object',
  properties: {
    confirmationId: { type: ['string', 'null'] },
    callId: text,
    toolName: text,
    description: text,
  },
  required: ['confirmationId', 'callId', 'toolName', 'description'],
};

export const answerShape: JsonObject = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: text },
  required: ['approved'],
};
