import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/** The files that take five seconds or more, longest first. `npm run test:fast` leaves them out. */
export const longest: readonly string[] = [
  'test/console/inbox.browser.test.ts',
  'test/http/hostile.test.ts',
  'test/console/calls.browser.test.ts',
  'test/frameworks/claude-agent.test.ts',
  'test/console/overview-and-tools.browser.test.ts',
  'test/console/sessions.browser.test.ts',
  'test/console/integrity.browser.test.ts',
  'test/frameworks/attacks.test.ts',
  'test/console/contracts.browser.test.ts',
  'test/first-minutes.test.ts',
  'test/console/secret-ids.browser.test.ts',
  'test/frameworks/langchain.test.ts',
  'test/http/streams.test.ts',
  'test/promises/tamper-random.test.ts',
  'test/console/call.browser.test.ts',
  'test/http/security.test.ts',
  'test/frameworks/plain-loops.test.ts',
  'test/console/reconcile.browser.test.ts',
  'test/attacks/attacks.test.ts',
  'test/console/frame.browser.test.ts',
  'test/frameworks/mastra.test.ts',
  'test/frameworks/ai-sdk.test.ts',
  'test/durable/poison-code.test.ts',
  'test/react/behavior.test.ts',
  'test/frameworks/claude-agent-odd.test.ts',
  'test/frameworks/google-adk.test.ts',
  'test/console/hostile-text.browser.test.ts',
  'test/frameworks/google-genai.test.ts',
  'test/http/api.test.ts',
  'test/same-names.test.ts',
  'test/frameworks/conformance.test.ts',
  'test/handbook.test.ts',
  'src/cli/serve.test.ts',
  'test/promises/tamper-evident.test.ts',
  'test/console/other-port.browser.test.ts',
  'test/http/followers.test.ts',
  'test/frameworks/examples.test.ts',
  'test/frameworks/openai-agents.test.ts',
  'test/promises/tamper-beside.test.ts',
  'test/examples.test.ts',
  'src/ledger/tamper.test.ts',
  'test/frameworks/ag-ui.test.ts',
  'test/postgres/contract.test.ts',
  'test/console/large-calls.browser.test.ts',
  'test/http/limits.test.ts',
  'test/durable/dead-owner.test.ts',
  'src/base/safe-text.test.ts',
  'test/behaviors/restart.test.ts',
  'test/durable/poison.test.ts',
  'test/durable/handoff.test.ts',
  'test/http/who-decides.test.ts',
  'test/durable/full-disk.test.ts',
  'src/runtime/runtime.property.test.ts',
  'src/cli/people.test.ts',
  'src/base/secret-patterns.test.ts',
  'test/promises/no-silent-rerun.test.ts',
  'test/console/replaced-ledger.browser.test.ts',
  'test/people/interleavings.property.test.ts',
  'test/promises/approved-is-run.test.ts',
  'test/durable/recovery.test.ts',
  'src/policy/sandbox/sandbox.test.ts',
  'test/replay-real.test.ts',
  'test/durable/processes.test.ts',
  'test/durable/lost-files.test.ts',
  'test/http/large-calls.test.ts',
  'src/store/sqlite/sqlite-ledger.test.ts',
  'test/templates.test.ts',
  'test/frameworks/matrix.test.ts',
  'test/react/card.test.ts',
  'src/cli/look.test.ts',
  'test/durable/close-waits.test.ts',
  'src/tool/coerce.property.test.ts',
  'test/console/server-pages.browser.test.ts',
  'test/http/logins.test.ts',
  'test/postgres/faults.test.ts',
  'test/promises/deny-wins.test.ts',
  'src/cli/look-back.test.ts',
  'test/layering.test.ts',
  'test/own-files/own-files.test.ts',
  'test/promises/changed-rows.test.ts',
  'src/base/json.test.ts',
  'test/promises/nothing-lost.test.ts',
  'test/react/example.test.ts',
  'test/promises/secrets-on-disk.test.ts',
  'test/frameworks/langgraph-restart.test.ts',
  'test/http/wire.test.ts',
  'test/react/docs.test.ts',
  'test/promises/tamper-tables.test.ts',
  'src/replay/backtest.property.test.ts',
  'test/contracts-reload.test.ts',
];

/**
 * The projects in the order in which they run. `npm test` installs the frameworks during the first one. The last one has
 * short files for the end.
 */
const projectOrder = ['browser', 'frameworks', 'react', 'core'];

/**
 * Runs long files before short ones, so that none runs alone at the end. Without times of an earlier run
 * Vitest sorts by file size, and the suites of the frameworks are very small files.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = new Map(longest.map((path, index) => [path, index]));
    const rankOf = ({ moduleId }: TestSpecification): number =>
      rank.get(moduleId.slice(this.ctx.config.root.length + 1)) ?? longest.length;
    // Project by project: files share a worker only if they follow each other. A new worker loads everything again.
    const orderOf = ({ project }: TestSpecification): number => projectOrder.indexOf(project.name);
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => orderOf(a) - orderOf(b) || rankOf(a) - rankOf(b));
  }
}
