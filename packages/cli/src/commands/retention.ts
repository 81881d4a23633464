import type { RetentionRule } from 'quittance/internal/ledger/removal';
import { applyRetention } from 'quittance/internal/ledger/removal';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { readRemovalReason, removalEffect, removalOptions } from '../removal-reason.ts';
import { layerOptions } from '../settings/layered-options.ts';
import { readRetentionRules } from '../settings/retention-setting.ts';
import { serveSettings } from '../settings/serve-settings.ts';
import { safeJson, terminalId } from '../terminal-text.ts';
import { parseSpan } from '../time-text.ts';
import { UsageError } from '../usage-error.ts';

const line = 'quittance retention --older-than 90d --reason "retention, 90 days"';

export const retentionCommand: CliCommand = {
  name: 'retention',
  summary: 'Remove or erase old sessions, by age and by name',
  about: [
    'Applies to sessions without an event since the given time. Sessions with an open, held or unresolved call stay, and are listed. Each removal is recorded in the ledger with a name and a reason. quittance serve applies the same rules from its configuration: retention.rules.',
    'With --config, the rules of that file are applied instead of the options. A scheduled job needs a token with the role admin.',
  ],
  options: {
    'older-than': { value: 'SPAN', help: 'Sessions without an event for this long: 90d, 2w' },
    session: { value: 'PATTERN', help: 'Only sessions with this id; * matches any text' },
    erase: { help: 'Empty the contents and keep the chain, instead of removing the session' },
    'dry-run': { help: 'Only list the sessions' },
    config: { value: 'FILE', help: 'Take the rules from this configuration file', file: true },
    ...removalOptions,
  },
  examples: [
    [`${line} --dry-run`, 'what would be removed'],
    [line, 'remove it'],
    ['quittance retention --older-than 7d --session "test-*" --reason "test data"', 'by name'],
  ],
  effect(given, context) {
    readRules(given, context);
    if (given.has('dry-run')) return reads;
    const question = 'Remove what these rules name, permanently?';
    return removalEffect(given, context, { line, question, word: 'remove' });
  },
  async run(given, context) {
    const rules = readRules(given, context);
    const dryRun = given.has('dry-run');
    const reason = dryRun ? { by: context.userName, reason: 'dry run' } : readRemovalReason(given, context);
    return context.withLedger(
      given,
      async (ledger) => {
        const { out, err, signal } = context;
        const run = await applyRetention(ledger, rules, reason, { signal, dryRun });
        if (given.has('json')) {
          await out.print(safeJson({ ...run, dryRun }));
          return exitCodes.good;
        }
        for (const [what, sessions] of [
          [dryRun ? 'would drop' : 'dropped', run.dropped],
          [dryRun ? 'would erase' : 'erased', run.erased],
          ['kept, a call of it is open or unresolved', run.kept],
        ] as const)
          for (const sessionId of sessions) await out.print(`${terminalId(sessionId)}  ${what}`);
        await err.say(
          `${run.dropped.length} dropped, ${run.erased.length} erased, ${run.kept.length} kept${dryRun ? ' (dry run, nothing changed)' : ''}.`,
        );
        return exitCodes.good;
      },
      dryRun ? 'look' : 'write',
    );
  },
};

const readRules = (given: Given, { env }: Context): readonly RetentionRule[] =>
  given.has('config')
    ? readRetentionRules(layerOptions(given, env, serveSettings).given)
    : [readRule(given.text('older-than'), given.text('session'), given.has('erase'))];

function readRule(
  olderThan: string | undefined,
  session: string | undefined,
  isErasure: boolean,
): RetentionRule {
  if (olderThan === undefined)
    throw new UsageError('Name an age: --older-than SPAN, or a file with rules: --config FILE.', [line]);
  return {
    olderThanMs: parseSpan(olderThan, 'older-than'),
    action: isErasure ? 'erase' : 'drop',
    ...(session !== undefined && { session }),
  };
}
