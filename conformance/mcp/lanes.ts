/** The ways from the suite to the fixture server: directly, and through the gateway. */
import { startProgram } from './start-program.ts';
import type { Revision } from './run-suite.ts';

export type Lane = {
  readonly name: string;
  readonly description: string;
  readonly start: () => Promise<Started>;
  /**
   * Scenarios that cannot pass in this lane, with the reason. A lane without this list must also have all checks of
   * the fixture server.
   */
  readonly knownFailures?: Readonly<Record<Revision, Readonly<Record<string, string>>>>;
};

export type Started = {
  readonly url: string;
  /** Printed with the result. */
  readonly configuration?: unknown;
  readonly close: () => Promise<void>;
};

const fixture = 'conformance/mcp/fixture-server.ts';

export const lanes: readonly Lane[] = [
  {
    name: 'direct',
    description: 'suite → fixture server over HTTP',
    start: () => startProgram([fixture]),
  },
];
