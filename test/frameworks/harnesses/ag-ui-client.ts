/** User interfaces of AG-UI, as the tests use them. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { HttpAgent } from '@ag-ui/client';

/** A user interface that shows the runs of an agent behind AG-UI, from its real package. */
export type AgUiClient = {
  /** Sends a message of the user and waits until the run ends. */
  say(text: string): Promise<void>;
  /** The calls that the interface asks its user to approve. */
  asked(): readonly string[];
  /** Answers every question as the interface does when its user clicks. Waits until the resumed run ends. */
  answer(isApproved: (callId: string) => boolean, reason?: string): Promise<void>;
  /** The call with its arguments, as the interface shows it. */
  shownCall(callId: string): { readonly name: string; readonly args: unknown } | undefined;
  /** All results that the interface has for a call. */
  results(callId: string): readonly unknown[];
  /** The last text of the assistant. */
  lastText(): string | undefined;
  close(): void;
};

/** A tool that runs in the page. */
export type PageTool = { readonly name: string; readonly run: () => Promise<unknown> };

export type AgUiConnection = {
  readonly url: string;
  readonly threadId: string;
  readonly pageTools?: readonly PageTool[];
};

export type ConnectAgUi = (connection: AgUiConnection) => Promise<AgUiClient>;

/** Tabled content is JSON. Some interfaces parse it before they show it. */
export const parseResult = (result: unknown): unknown => {
  try {
    return typeof result === 'string' ? (JSON.parse(result) as unknown) : result;
  } catch {
    return result;
  }
};

/** `HttpAgent` of the version of `@ag-ui/client` that a package depends on itself. */
export async function loadHttpAgent(fromPackage: string): Promise<typeof HttpAgent> {
  const from = createRequire(fileURLToPath(import.meta.resolve(fromPackage)));
  const loaded: unknown = await import(from.resolve('@ag-ui/client'));
  return (loaded as { readonly HttpAgent: typeof HttpAgent }).HttpAgent;
}
