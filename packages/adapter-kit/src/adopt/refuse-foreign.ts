/** Checks that an adapter received its tools in the form of its framework. */
import { QuittanceError } from 'quittance/internal/base/error';
import { describeValue } from 'quittance/internal/tool/describe-value';
import { quote } from 'quittance/internal/base/nearest';
import type { Adapter } from './tested-versions.ts';

export function refuseNoList(adapter: Adapter, tools: unknown): void {
  if (Array.isArray(tools)) return;
  throw new QuittanceError(
    'config.invalid',
    `governTools of ${adapter} expects a list of tools, as in governTools([search, refund]). Found ${describeValue(tools)}.`,
  );
}

export function refuseNoRecord(adapter: Adapter, tools: unknown): void {
  if (typeof tools === 'object' && tools !== null && !Array.isArray(tools)) return;
  throw new QuittanceError(
    'config.invalid',
    `governTools of ${adapter} expects an object of tools by name, as in governTools({ search, refund ` +
      `}). Found ${describeValue(tools)}.`,
  );
}

/** A tool that Quittance cannot run. `problem` says why. */
export const refuseForeign = (name: string, problem: string): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The tool ${quote(name)} ${problem}, so Quittance cannot run it. To pass it through ungoverned: ` +
      `governTools(tools, { ungoverned: [${JSON.stringify(name)}] }).`,
    { tool: name },
  );
