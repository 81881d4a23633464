import type { CallEvent } from '../call/event.ts';
import type { CallSpan } from './call-timeline.ts';
import { callTimeline } from './call-timeline.ts';
import type { PageLayout } from './page-layout.ts';
import { terminalText } from './terminal-text.ts';
import { fit, textWidth, trim } from './text-width.ts';
import { duration } from './time-text.ts';

/** Bars to scale: the start and the duration of each stage. */
export function timelineLines(events: readonly CallEvent[], page: PageLayout): string[] {
  const spans = callTimeline(events);
  const end = Math.max(0.1, ...spans.map(({ from, ms }) => from + (ms ?? 0)));
  const nameWidth = Math.max(0, ...spans.map(({ name, nested }) => textWidth(name) + (nested ? 2 : 0)));
  const barWidth = Math.max(10, Math.min(32, Math.floor((page.textWidth - nameWidth) / 3)));
  const noteWidth = page.textWidth - nameWidth - 2 - 9 - 2 - barWidth - 2;
  return spans.map((span) => {
    const note = trim(terminalText(span.note), noteWidth);
    const took =
      span.ms === undefined
        ? '…'
        : span.ms === 0 && span.nested
          ? ''
          : span.ms === 0
            ? `+${duration(span.from)}`
            : duration(span.ms);
    return [
      fit(`${span.nested ? '  ' : ''}${terminalText(span.name)}`, nameWidth),
      fit(took, 9, 'right'),
      page.paint('cyan', bar(span, end, barWidth)),
      page.paint('dim', note),
    ].join('  ');
  });
}

function bar({ from, ms, nested }: CallSpan, end: number, width: number): string {
  if (nested && ms === 0) return ' '.repeat(width);
  const start = Math.min(width - 1, Math.floor((from / end) * width));
  const length = ms === undefined ? width - start : Math.max(1, Math.round((ms / end) * width));
  const mark = ms === 0 ? '◆' : (ms === undefined ? '░' : '█').repeat(Math.min(length, width - start));
  return fit(' '.repeat(start) + mark, width);
}
