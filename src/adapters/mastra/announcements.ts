/**
 * What comes back from a run of Mastra that stopped for an approval.
 *
 * The answer of a person arrives as `resumeData`, and so does whatever a model writes into an argument of that name:
 * Mastra takes it out of the arguments and prefers it. Nothing a model says can approve. Before it runs a tool Mastra
 * announces the arguments as the model wrote them, so that the two can be told apart: data counts for a call only
 * where every announcement of it was free of the argument.
 */
import { isJsonObject } from '../../base/json.ts';
import type { JsonObject } from '../../base/json.ts';
import { ownValue } from '../../tool/own-value.ts';

/** What a person said. */
export type MastraAnswer = {
  readonly approved: boolean;
  readonly reason: string | undefined;
  /** The question it is about, where that is known. */
  readonly confirmationId: string | undefined;
};

export interface Announcements {
  /** Takes down what Mastra says a model wrote. */
  add(toolCallId: string, input: unknown): void;
  /** What was announced of a call that is made now. */
  take(toolCallId: string): Announced;
}

export type Announced = {
  /** Is what this call is resumed with nothing that its model wrote? */
  readonly isOfPerson: boolean;
  /** When it was announced, by the clock. Undefined where nothing was. */
  readonly at: number | undefined;
};

/** Counts the announcements whose call has not been made yet. Ids are those of providers: two runs may share one. */
export function createAnnouncements(clock: () => number): Announcements {
  const open = new Map<string, { clean: number; written: number; readonly at: number[] }>();
  return {
    add(toolCallId, input) {
      const counts = open.get(toolCallId) ?? { clean: 0, written: 0, at: [] };
      counts.at.push(clock());
      if (isJsonObject(input) && 'resumeData' in input) counts.written++;
      else counts.clean++;
      const [oldest] = open.keys();
      // Calls that were announced and never made must not pile up.
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

/** Reads an answer; undefined where the data says neither yes nor no. */
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
    // What is no name of a question is about none.
    confirmationId: about === undefined || typeof about === 'string' ? about : '',
  };
}

/** Shows a shape and lets everything through: what is wrong with it is for Quittance to say. */
export const openMastraSchema = (shape: JsonObject): object => {
  // Mastra writes into what it is given, for one provider or another.
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

/** What a run is suspended with. */
export type MastraQuestion = {
  /** Null where nobody is asked, and somebody else is still making the call. */
  readonly confirmationId: string | null;
  readonly callId: string;
  readonly toolName: string;
  /** What the person is asked. */
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
