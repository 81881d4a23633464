/**
 * The calls of a session as bars in lanes. The chart is one tab stop; arrow keys move between calls. The table below
 * shows the same calls.
 */
import type { KeyboardEvent, ReactNode } from 'react';
import { useMemo, useRef } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { Timeline, TimelineCall } from '@quittance/server/internal/http/api/session';
import { addressOf } from '../../route.ts';
import { Link } from '../../ui/link.tsx';
import { describeOutcome } from '../../ui/outcome-badge.tsx';
import { formatDuration } from '../../ui/time.tsx';
import { linksBetween } from './links-between.ts';
import { measureCall } from './measure-call.ts';
import type { TimeScale } from './time-scale.ts';
import { ForeignId } from '../../ui/foreign-text.tsx';

const laneHeight = 30;
const barHeight = 22;

type Props = {
  readonly timeline: Timeline;
  readonly scale: TimeScale;
  readonly now: number;
  /** The call under the pointer or with the focus, here or in the table. */
  readonly active: string | undefined;
  readonly onActive: (callId: string | undefined) => void;
};

export function TimelineChart({ timeline, scale, now, active, onActive }: Props): ReactNode {
  const { rows, lanes } = timeline;
  // Oldest first: the order for the arrow keys.
  const ordered = useMemo(() => rows.toReversed(), [rows]);
  const chart = useRef<HTMLDivElement>(null);
  const stop = ordered.some(({ call }) => call.callId === active) ? active : ordered[0]?.call.callId;
  const move = (event: KeyboardEvent): void => {
    const step = steps[event.key];
    if (step === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    const at = ordered.findIndex(({ call }) => call.callId === stop);
    const to = step === 'first' ? 0 : step === 'last' ? ordered.length - 1 : at + step;
    const next = ordered[Math.min(Math.max(to, 0), ordered.length - 1)];
    if (next === undefined) return;
    onActive(next.call.callId);
    chart.current?.querySelectorAll<HTMLElement>('.lane-bar')[ordered.indexOf(next)]?.focus();
  };
  const height = lanes * laneHeight;
  return (
    <div className="timeline" role="group" aria-label="Timeline" ref={chart} onKeyDown={move}>
      <Axis scale={scale} />
      <div className="lanes" style={{ height }} onMouseLeave={() => onActive(undefined)}>
        {scale.stretches
          .filter(({ squeezed }) => squeezed)
          .map(({ from, to, start, end }) => (
            <div
              key={from}
              className="squeezed"
              style={{ left: percent(start), width: percent(end - start) }}
              title={`${formatDuration(to - from)} idle, shortened`}
            >
              <span>{formatDuration(to - from)}</span>
            </div>
          ))}
        <Links timeline={timeline} scale={scale} height={height} />
        {ordered.map((row) => (
          <Bar
            key={row.call.callId}
            row={row}
            scale={scale}
            now={now}
            isActive={row.call.callId === active}
            isStop={row.call.callId === stop}
            onActive={onActive}
          />
        ))}
      </div>
    </div>
  );
}

const steps: Readonly<Partial<Record<string, 1 | -1 | 'first' | 'last'>>> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
  Home: 'first',
  End: 'last',
};

const percent = (share: number): string => `${(share * 100).toFixed(4)}%`;

function Bar({
  row: { call, lane, spans },
  scale,
  now,
  isActive,
  isStop,
  onActive,
}: {
  readonly row: TimelineCall;
  readonly scale: TimeScale;
  readonly now: number;
  readonly isActive: boolean;
  readonly isStop: boolean;
  readonly onActive: (callId: string | undefined) => void;
}): ReactNode {
  const { word, tone } = describeOutcome(call);
  const start = scale.at(spans[0]?.from ?? scale.from);
  const end = scale.at(spans.at(-1)?.to ?? now);
  const width = end - start;
  const { totalMs, heldMs } = measureCall(spans, now);
  const name = safeId(call.toolName);
  const words = `${name}, ${word}, ${formatDuration(totalMs)}${heldMs > 0 ? `, ${formatDuration(heldMs)} of it held` : ''}`;
  return (
    <Link
      to={addressOf(['calls', call.sessionId, call.callId])}
      className="lane-bar"
      data-tone={tone}
      data-active={isActive}
      tabIndex={isStop ? 0 : -1}
      aria-label={words}
      title={`${words}\n${safeId(call.callId)}`}
      style={{
        left: percent(start),
        width: percent(width),
        top: lane * laneHeight + (laneHeight - barHeight) / 2,
        height: barHeight,
      }}
      onMouseEnter={() => onActive(call.callId)}
      onFocus={() => onActive(call.callId)}
    >
      {spans.map((span, index) => {
        const from = scale.at(span.from);
        const to = scale.at(span.to ?? now);
        return (
          <span
            key={index}
            className="span"
            data-kind={span.kind}
            style={
              width === 0
                ? { left: 0, width: '100%' }
                : { left: percent((from - start) / width), width: percent((to - from) / width) }
            }
          />
        );
      })}
      <span className="bar-name">
        <ForeignId id={call.toolName} />
      </span>
    </Link>
  );
}

/** Lines from a call to the one it repeats, undoes or was caused by. */
function Links({
  timeline,
  scale,
  height,
}: {
  readonly timeline: Timeline;
  readonly scale: TimeScale;
  readonly height: number;
}): ReactNode {
  const links = linksBetween(timeline.rows);
  if (links.length === 0) return null;
  const middle = (lane: number): number => lane * laneHeight + laneHeight / 2;
  return (
    <svg className="links" viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {links.map(({ from, to, how }) => {
        const [x1, x2] = [from, to].map(({ spans }) => scale.at(spans[0]?.from ?? 0) * 1_000) as [
          number,
          number,
        ];
        const [y1, y2] = [middle(from.lane), middle(to.lane)];
        // Within one lane, the line would run behind the bars, so it bends below them.
        const bend = Math.max(y1, y2) + (y1 === y2 ? laneHeight / 2 : 0);
        return (
          <path
            key={`${from.call.callId} ${how} ${to.call.callId}`}
            data-how={how}
            d={y1 === y2 ? `M${x1} ${y1}V${bend - 1}H${x2}V${y2}` : `M${x1} ${y1}L${x2} ${y2}`}
          />
        );
      })}
    </svg>
  );
}

const tickPlaces = [0, 0.2, 0.4, 0.6, 0.8, 1];

function Axis({ scale }: { readonly scale: TimeScale }): ReactNode {
  if (scale.stretches.length === 0) return null;
  return (
    <div className="axis" aria-hidden="true">
      {tickPlaces.map((place) => (
        <span key={place} style={{ left: percent(place) }}>
          {place === 0 ? 'start' : `+${formatDuration(scale.momentAt(place) - scale.from)}`}
        </span>
      ))}
    </div>
  );
}
