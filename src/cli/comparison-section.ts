import type { ArgumentComparison } from '../call/event.ts';
import type { PageLayout } from './page-layout.ts';
import { indent, paragraph, section } from './page-layout.ts';
import { previewLines } from './preview-lines.ts';
import { terminalId } from './terminal-text.ts';
import { age } from './time-text.ts';

/** What there is to see of a held call whose tool shows no preview. */
export function comparisonSection(
  comparison: ArgumentComparison | undefined,
  page: PageLayout,
  now: number,
): string[] {
  const inside = { ...page, textWidth: page.textWidth - indent.length };
  if (comparison === undefined)
    return section(
      'No preview',
      paragraph(
        'The tool shows none, and there is no earlier call on the same resource to compare with.',
        inside,
      ),
      page,
    );
  const { callId, at, fields, more } = comparison;
  const when = `${age(at, now)} ago`.replace('now ago', 'just now');
  return section(
    `Compared with call ${terminalId(callId)}`,
    [
      ...paragraph(
        `The tool shows no preview. That call, ${when}, was the last one on the same resource.` +
          (fields.length === 0 ? ' The arguments are the same.' : ''),
        inside,
      ),
      ...previewLines({ kind: 'fields', fields }, inside, 'all'),
      ...(more === 0 ? [] : [`and ${more} more differences`]),
    ],
    page,
  );
}
