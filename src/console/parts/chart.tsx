/** Small charts: a bar for each minute, with the failed ones in front. */
export interface HourProps {
  readonly calls: readonly number[]
  readonly failures: readonly number[]
}

const HEIGHT = 28
const BAR = 4

export function HourChart({ calls, failures }: HourProps) {
  const max = Math.max(1, ...calls)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const height = (value: number) => (value === 0 ? 0 : Math.max(1, (value / max) * HEIGHT))
  const label = `${count(sum(calls), 'call')}, ${count(sum(failures), 'failure')} in the last hour`
  const bars = (values: readonly number[], name: string) =>
    values.map((value, at) =>
      value === 0 ? null : (
        <rect key={at} class={name} x={at * BAR} y={HEIGHT - height(value)} width={BAR - 1} height={height(value)} />
      ),
    )
  return (
    <figure class="hour">
      <svg viewBox={`0 0 ${calls.length * BAR} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <line class="axis" x1="0" x2={calls.length * BAR} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
        {bars(calls, 'calls')}
        {bars(failures, 'failures')}
      </svg>
      <figcaption>{label}</figcaption>
    </figure>
  )
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}
