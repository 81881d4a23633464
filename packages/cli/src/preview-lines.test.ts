import { describe, expect, test } from 'vitest';
import { nasty } from '../../../test/fill-ledger.ts';
import { previewLines } from './preview-lines.ts';

const page = { textWidth: 60, paint: (style: unknown, text: string) => `<${String(style)}>${text}` };
const lines = (
  ...args: Parameters<typeof previewLines> extends [infer Preview, ...unknown[]] ? [Preview] : never
) => previewLines(...args, page, 'all');

describe('a preview', () => {
  test('a preview that is a diff is colored by line, whatever a line contains', () => {
    const diff = '@@ -1,2 +1,2 @@\n-old\n+new\n     deep context\n no change';
    const drawn = lines({ kind: 'diff', path: 'a.md', diff }).slice(1);
    expect(drawn).toEqual([
      '<cyan>  @@ -1,2 +1,2 @@',
      '<red>  -old',
      '<green>  +new',
      '       deep context',
      '   no change',
    ]);
  });

  test('can neither control the terminal nor imitate a second field', () => {
    const drawn = [
      ...lines({ kind: 'text', text: nasty }),
      ...lines({ kind: 'command', command: nasty, directory: nasty }),
      ...lines({ kind: 'diff', path: nasty, diff: nasty }),
      ...lines({ kind: 'fields', fields: [{ name: 'a\nb: 1 → 2', after: nasty }] }),
    ];
    for (const line of drawn) expect(line).not.toMatch(/[\p{Cc}\u202e\u2066]/u);
    expect(lines({ kind: 'fields', fields: [{ name: 'a\nb', before: 1 }] })).toEqual([
      '  a\\nb: 1 → (nothing)',
    ]);
  });

  test('is complete for the approver, and cut with a note elsewhere', () => {
    const diff = Array.from({ length: 500 }, (_, line) => `+${line}`).join('\n');
    expect(lines({ kind: 'diff', path: 'a', diff })).toHaveLength(501);
    const start = previewLines({ kind: 'diff', path: 'a', diff }, page, 'start');
    expect(start).toHaveLength(62);
    expect(start.at(-1)).toContain('cut: 440 more lines');
  });
});
