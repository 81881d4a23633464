import type { Tone } from '../../ui/outcome-badge.tsx';

/** `12.5 %`; what is not none is never shown as none. */
export function formatShare(share: number | undefined): string {
  if (share === undefined) return '–';
  if (share > 0 && share < 0.001) return '<0.1 %';
  if (share < 1 && share > 0.999) return '>99.9 %';
  return `${(100 * share).toFixed(1)} %`;
}

/** Of failures: some are ordinary, a fifth is not. */
export const toneOfShare = (share: number | undefined): Tone =>
  share === undefined || share === 0 ? 'quiet' : share < 0.2 ? 'attention' : 'bad';
