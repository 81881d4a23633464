import { checkSandbox } from '../../sandbox/check-sandbox.ts';
import type { Finding } from './finding.ts';
import { fine, note } from './finding.ts';

/** Does the sandboxed executor work here? A set-up without tools of `quittance/sandbox` does not need it. */
export async function* checkExecutor(check: typeof checkSandbox = checkSandbox): AsyncGenerator<Finding> {
  const found = await check();
  if (found.works)
    yield fine(
      'sandbox',
      `The sandboxed executor works: bubblewrap ${found.version}, started in ${Math.round(found.startMs)} ms`,
    );
  else
    yield note(
      'sandbox',
      `The sandboxed executor does not work here. ${found.problem}`,
      `${found.remedy} Needed only for tools of quittance/sandbox.`,
    );
}
