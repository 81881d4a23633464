import type { HTMLAttributes, ReactNode } from 'react';

export type Column<Row> = {
  /** Column header. With `hidden`, only screen readers get it. */
  readonly head: string;
  readonly hidden?: boolean;
  /** `num`: right-aligned. `wraps`: may take several lines. `roomy`: dropped on narrow screens. */
  readonly className?: string;
  readonly cell: (row: Row) => ReactNode;
};

type Props<Row> = {
  /** Accessible name of the table. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly propsOf?: (row: Row) => HTMLAttributes<HTMLTableRowElement> & { readonly 'data-active'?: boolean };
  readonly onMouseLeave?: () => void;
};

/** A table that scrolls, also by keyboard, when it is wider than its container. On a phone, rows are cards. */
export function DataTable<Row>({ name, columns, rows, keyOf, propsOf, onMouseLeave }: Props<Row>): ReactNode {
  return (
    <div className="wide-table" tabIndex={0} role="group" aria-label={name}>
      <table className="card-rows" onMouseLeave={onMouseLeave}>
        <caption className="hidden">{name}</caption>
        <thead>
          <tr>
            {columns.map(({ head, hidden, className }) => (
              <th key={head} scope="col" className={className}>
                {hidden === true ? <span className="hidden">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} {...propsOf?.(row)}>
              {columns.map(({ head, hidden, className, cell }) => (
                <td key={head} className={className} data-label={hidden === true ? undefined : head}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
