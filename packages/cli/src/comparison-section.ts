import type { ArgumentComparison } from 'quittance/internal/call/event';
import type { PageLayout } from './page-layout.ts';
import { indent, paragraph, section } from './page-layout.ts';
import { previewLines } from './preview-lines.ts';
import { terminalId } from './terminal-text.ts';
import { age } from './time-text.ts';

/** What the approver sees when the tool has no preview: a comparison with an earlier call. */
export function comparisonSection(
  comparison: ArgumentComparison | 'none',
  page: PageLayout,
  now: number,
): string[] {
  const inside = { ...page, textWidth: page.textWidth - indent.length };
  if (comparison === 'none')
    return section(
      'No preview',
      paragraph(
        'The tool has no preview, and there is no comparison with an earlier call on the same resource.',
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
        `The tool has no preview. The last call on the same resource was ${when}.` +
          (fields.length === 0 ? ' The arguments are the same.' : ''),
        inside,
      ),
      ...previewLines({ kind: 'fields', fields }, inside, 'all'),
      ...(more === 0 ? [] : [`and ${more} more differences`]),
    ],
    page,
  );
}
