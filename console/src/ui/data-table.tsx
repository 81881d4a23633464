import type { HTMLAttributes, ReactNode } from 'react';

export type Column<Row> = {
  /** What stands over it; `hidden` where the cells speak for themselves, for whoever hears the table. */
  readonly head: string;
  readonly hidden?: boolean;
  /** `num`: to the right. `wraps`: may take several lines. `roomy`: left out where there is little room. */
  readonly className?: string;
  readonly cell: (row: Row) => ReactNode;
};

type Props<Row> = {
  /** What the rows are. */
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly propsOf?: (row: Row) => HTMLAttributes<HTMLTableRowElement> & { readonly 'data-active'?: boolean };
  readonly onMouseLeave?: () => void;
};

/** Rows that are alike, each column said once. Where it is wider than its place it scrolls, by keyboard too. */
export function DataTable<Row>({ name, columns, rows, keyOf, propsOf, onMouseLeave }: Props<Row>): ReactNode {
  return (
    <div className="wide-table" tabIndex={0} role="group" aria-label={name}>
      <table onMouseLeave={onMouseLeave}>
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
              {columns.map(({ head, className, cell }) => (
                <td key={head} className={className}>
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
