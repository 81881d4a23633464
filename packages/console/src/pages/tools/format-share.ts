import type { Tone } from '../../ui/outcome-badge.tsx';

/** `12.5 %`. A small nonzero share is never shown as zero. */
export function formatShare(share: number | undefined): string {
  if (share === undefined) return '–';
  if (share > 0 && share < 0.001) return '<0.1 %';
  if (share < 1 && share > 0.999) return '>99.9 %';
  return `${(100 * share).toFixed(1)} %`;
}

/** Tone of an error rate: some failures are normal, 20 % is not. */
export const toneOfShare = (share: number | undefined): Tone =>
  share === undefined || share === 0 ? 'quiet' : share < 0.2 ? 'attention' : 'bad';
