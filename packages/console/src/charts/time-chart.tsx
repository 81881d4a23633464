/** Values over time, as stacked bars or lines. Screen readers get the same numbers as a table. */
import type { KeyboardEvent, ReactNode } from 'react';
import { useId, useState } from 'react';
import { goTo } from '../route.ts';
import { formatMomentOf, formatNumber, momentsFor, scaleFor } from './scale.ts';
import { useWidth } from './use-width.ts';

export type Series = {
  readonly name: string;
  /** A color token, for example `var(--good)`. */
  readonly color: string;
  readonly values: readonly (number | undefined)[];
};

type Props = {
  readonly title: string;
  readonly kind: 'bars' | 'lines';
  readonly times: readonly number[];
  readonly bucketMs: number;
  readonly series: readonly Series[];
  readonly height?: number;
  readonly format?: (value: number) => string;
  /** Address of what a bucket counts. */
  readonly toOf?: (at: number) => string;
};

const left = 56;
const bottom = 22;
const top = 8;
/** Labels closer to the right edge than this are right-aligned. */
const edge = 72;

export function TimeChart({
  title,
  kind,
  times,
  bucketMs,
  series,
  height = 200,
  format = formatNumber,
  toOf,
}: Props): ReactNode {
  const [box, width] = useWidth();
  const [pointed, setPointed] = useState<number | undefined>(undefined);
  const label = useId();
  const totals = times.map((_, index) =>
    kind === 'bars'
      ? series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)
      : Math.max(0, ...series.map(({ values }) => values[index] ?? 0)),
  );
  const step = times.length === 0 ? 0 : Math.max(0, width - left) / times.length;
  const index = pointed === undefined ? undefined : Math.min(times.length - 1, Math.max(0, pointed));
  const moment = formatMomentOf(bucketMs, true);
  const open = (): void => {
    const at = index === undefined ? undefined : times[index];
    if (at !== undefined && toOf !== undefined && totals[index ?? 0] !== 0) goTo(toOf(at));
  };
  return (
    <figure className="chart" aria-labelledby={label}>
      <figcaption id={label} className="hidden">
        {title}
      </figcaption>
      <ul className="legend" aria-live={toOf === undefined ? undefined : 'polite'}>
        {series.map(({ name, color, values }) => (
          <li key={name}>
            <span className="swatch" style={{ background: color }} aria-hidden="true" />
            {name}
            {index !== undefined && (
              <strong>{values[index] === undefined ? '–' : format(values[index])}</strong>
            )}
          </li>
        ))}
        <li className="legend-moment">{index === undefined ? '' : moment(times[index] ?? 0)}</li>
      </ul>
      <div
        ref={box}
        className="chart-box"
        // Reserves the space until the width is known, so that the content below does not jump.
        style={{ height }}
        onPointerMove={(event) => {
          const place = event.clientX - event.currentTarget.getBoundingClientRect().left - left;
          setPointed(step === 0 || place < 0 ? undefined : Math.floor(place / step));
        }}
        onPointerLeave={() => setPointed(undefined)}
        {...(toOf !== undefined && {
          role: 'group',
          tabIndex: 0,
          'aria-label': `${title}. Arrow keys move in time, Enter shows the calls.`,
          'data-opens': true,
          onClick: open,
          onBlur: () => setPointed(undefined),
          onKeyDown: (event: KeyboardEvent) => {
            const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            if (step !== undefined) {
              event.preventDefault();
              setPointed(Math.min(times.length - 1, Math.max(0, (index ?? times.length) + step)));
            } else if (event.key === 'Enter') open();
          },
        })}
      >
        {width > 0 && (
          <Plot
            {...{ kind, times, bucketMs, series, format, width, height, step, index }}
            most={Math.max(0, ...totals)}
          />
        )}
      </div>
      <ChartTable {...{ title, times, totals, series, format, moment }} />
    </figure>
  );
}

type PlotProps = Pick<Props, 'kind' | 'times' | 'bucketMs' | 'series'> & {
  readonly format: (value: number) => string;
  readonly width: number;
  readonly height: number;
  /** Width of a bucket in pixels. */
  readonly step: number;
  /** The bucket under the pointer. */
  readonly index: number | undefined;
  readonly most: number;
};

/** The drawing: axes, the bucket under the pointer, and the bars or lines. */
function Plot({
  kind,
  times,
  bucketMs,
  series,
  format,
  width,
  height,
  step,
  index,
  most,
}: PlotProps): ReactNode {
  const scale = scaleFor(most);
  const inner = { width: Math.max(0, width - left), height: height - top - bottom };
  const x = (bucket: number): number => left + step * bucket;
  const y = (value: number): number => top + inner.height * (1 - scale.at(value));
  const { moments, everyMs } = momentsFor(times, bucketMs, Math.max(2, Math.floor(inner.width / 110)));
  const tick = formatMomentOf(everyMs);
  return (
    <svg width={width} height={height} aria-hidden="true">
      {scale.ticks.map((value) => (
        <g key={value}>
          <line className="grid" x1={left} x2={width} y1={y(value)} y2={y(value)} />
          <text className="tick" x={left - 8} y={y(value)} dy="0.32em" textAnchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      {moments.map((at) => {
        const place = x(times.indexOf(at)) + 2;
        const isAtEdge = place > width - edge;
        return (
          <text
            key={at}
            className="tick"
            x={isAtEdge ? width : place}
            y={height - 6}
            textAnchor={isAtEdge ? 'end' : 'start'}
          >
            {tick(at)}
          </text>
        );
      })}
      {index !== undefined && (
        <rect className="pointed" x={x(index)} y={top} width={step} height={inner.height} />
      )}
      {kind === 'bars'
        ? times.map((at, bucket) => <Stack key={at} {...{ bucket, series, x, y, step }} />)
        : series.map(({ name, color, values }) => (
            <path
              key={name}
              className="trend"
              stroke={color}
              d={lineOf(values, (bucket) => x(bucket) + step / 2, y)}
            />
          ))}
    </svg>
  );
}

type ChartTableProps = Pick<Props, 'title' | 'times' | 'series'> & {
  readonly totals: readonly number[];
  readonly format: (value: number) => string;
  readonly moment: (at: number) => string;
};

/** The same numbers as a table, for screen readers. */
function ChartTable({ title, times, totals, series, format, moment }: ChartTableProps): ReactNode {
  return (
    // A table ignores a fixed width, so its container hides it.
    <div className="hidden">
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((at, bucket) =>
            totals[bucket] === 0 ? null : (
              <tr key={at}>
                <th scope="row">{moment(at)}</th>
                {series.map(({ name, values }) => (
                  <td key={name}>{values[bucket] === undefined ? 'none' : format(values[bucket])}</td>
                ))}
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

type StackProps = {
  readonly bucket: number;
  readonly series: readonly Series[];
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
  readonly step: number;
};

function Stack({ bucket, series, x, y, step }: StackProps): ReactNode {
  let below = 0;
  const gap = step > 6 ? 2 : step > 3 ? 1 : 0;
  return (
    <g>
      {series.map(({ name, color, values }) => {
        const value = values[bucket] ?? 0;
        if (value === 0) return null;
        const from = below;
        below += value;
        return (
          <rect
            key={name}
            fill={color}
            x={x(bucket) + gap / 2}
            width={Math.max(1, step - gap)}
            y={y(below)}
            height={Math.max(1, y(from) - y(below))}
          />
        );
      })}
    </g>
  );
}

/** A line with gaps for missing values; a single value becomes a dot. */
function lineOf(
  values: readonly (number | undefined)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  let path = '';
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    const place = `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    if (values[index - 1] !== undefined) path += `L${place}`;
    else if (values[index + 1] === undefined)
      path += `M${(x(index) - 1.5).toFixed(1)} ${y(value).toFixed(1)}a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0`;
    else path += `M${place}`;
  }
  return path;
}
