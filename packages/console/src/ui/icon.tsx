import type { ReactNode } from 'react';

/** Paths on a 20 × 20 grid. */
const paths = {
  mark: 'M4 10.5l4 4 8-9',
  overview: 'M3 16V9m5 7V4m5 12v-5m4 5H2',
  calls: 'M4 5h12M4 10h12M4 15h8',
  inbox: 'M3 11l2-7h10l2 7v5H3zM3 11h4l1 2h4l1-2h4',
  reconcile: 'M10 6v4m0 3.5v.01M10 2.5l8 14H2z',
  sessions: 'M3 5h6M7 10h8M11 15h6',
  contracts: 'M5 2.5h7l3 3v12H5zM8 9h5M8 12.5h5',
  tools: 'M12 3a4 4 0 0 0-3.5 6L3 14.5 5.5 17 11 11.5A4 4 0 0 0 17 8l-2.5 1.5-2-2L14 5a4 4 0 0 0-2-2z',
  servers: 'M3 4h14v5H3zM3 11h14v5H3zM6 6.500v.01M6 13.500v.01',
  integrity: 'M10 2.5l6.5 2.5v5c0 4-3 6.5-6.5 7.5-3.5-1-6.5-3.500-6.5-7.500V5zM7.500 10l2 2 3.500-4',
  copy: 'M7 7V3h10v10h-4M3 7h10v10H3z',
  check: 'M4 10.5l4 4 8-9',
  close: 'M5 5l10 10M15 5L5 15',
  search: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zm4.500-1.500L17 17',
  pause: 'M7 4v12M13 4v12',
  play: 'M6 4l10 6-10 6z',
  'log-out': 'M12 4H4v12h8M8.500 10H17m-3.500-3.500L17 10l-3.500 3.500',
  link: 'M8 12l4-4M7 9l-2 2a3 3 0 0 0 4 4l2-2m0-4l2-2a3 3 0 0 0-4-4L7 5',
  arrow: 'M4 10h12m-5-5l5 5-5 5',
  down: 'M5 8l5 5 5-5',
  sun: 'M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM10 2v2m0 12v2M2 10h2m12 0h2M4.300 4.300l1.400 1.400m8.600 8.600l1.400 1.400m0-11.400l-1.400 1.400m-8.600 8.600l-1.400 1.400',
  moon: 'M16 12A7 7 0 0 1 8 4a7 7 0 1 0 8 8z',
} as const;

export type IconName = keyof typeof paths;

/** Decorative: the text next to it says the same. */
export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
