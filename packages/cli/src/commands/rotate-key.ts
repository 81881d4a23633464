import { existsSync } from 'node:fs';
import { proofOptions } from '../proof.ts';
import type { CliCommand } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { safeJson } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const rotateKeyCommand: CliCommand = {
  name: 'rotate-key',
  summary: 'Replace the seal key, and seal stored inputs again with the new one',
  about: [
    'Adds a new key and keeps the old one, then seals every stored input again. Running processes keep working: they open both. When nothing needs the old key any more, it is removed. As long as processes are running, it stays: restart them and run the command again. A run that was stopped goes on where it was.',
    'The key of digests does not change, so repeated calls and idempotency keys are still recognized. Decision links that were sent before stop working. Backups from before need the old key: --save-old writes it to a file.',
    '--lost is for a key that is gone or wrong. It begins with a new key and removes what the old one sealed. A held call with a hidden input is then invalid and must be requested again. Repeats of earlier calls with hidden input are refused as conflicts.',
  ],
  options: {
    'save-old': { value: 'FILE', help: 'Write the old key to this new file when it is removed', file: true },
    'print-keys': {
      help: 'Print the keys to keep, for keys from a variable or a command. They are secret',
    },
    lost: { help: 'The old key is lost: begin with a new one, and drop what it sealed' },
    ...proofOptions,
    json: { help: 'JSON instead of text: one line' },
  },
  examples: [
    [
      'quittance rotate-key --save-old /secrets/ledger-2026.key',
      'and again after a restart, if it asks for one',
    ],
    ['quittance rotate-key --lost', 'begin with a new key'],
  ],
  effect(given, context) {
    const saveOld = given.text('save-old');
    if (saveOld !== undefined && existsSync(saveOld))
      throw new UsageError(`${saveOld} already exists.`, ['quittance rotate-key --save-old other.key']);
    context.ledgerUrl(given);
    const question = given.has('lost') ? 'Drop everything that the old key sealed?' : 'Replace the seal key?';
    // A holder of the key can open sealed inputs and make decision links.
    return {
      kind: 'decides',
      role: 'admin',
      byDefault: context.userName,
      line: 'quittance rotate-key',
      asks: { question, word: 'rotate' },
    };
  },
  async run(given, context) {
    const { out, err, env, signal, startProgress } = context;
    const saveOld = given.text('save-old');
    const url = context.ledgerUrl(given);
    const { rotateKey } = await import('../ledgers/rotate-key.ts');
    const { state, waitingFor, began, resealed, unopened, keys } = await rotateKey(url, {
      env,
      signal,
      startProgress,
      lost: given.has('lost'),
      saveOld,
      printKeys: given.has('print-keys'),
    });
    if (keys !== undefined) {
      await out.write(keys);
      await err.say('Store this in place of the old value, and restart the processes.');
      return exitCodes.good;
    }
    if (given.has('json')) {
      await out.print(safeJson({ state, began, resealed, unopened, waitingFor }));
      return state === 'done' ? exitCodes.good : exitCodes.bad;
    }
    await out.say(began ? 'A new key is in use.' : 'Continued an earlier rotation.');
    if (given.has('lost'))
      await out.say(
        `Removed ${unopened} sealed inputs that needed the old key. Held calls among them can no longer run: quittance pending lists them.`,
      );
    else await out.say(`Sealed ${resealed} inputs again.`);
    if (state === 'done') {
      if (!given.has('lost'))
        await err.say('The old key is removed. Backups from before the rotation need it.');
      return exitCodes.good;
    }
    await err.say(
      `The old key stays, because it is needed by: ${waitingFor.join('; ')}. Restart the processes, then run quittance rotate-key again.`,
    );
    return exitCodes.bad;
  },
};
