import type { Series } from '../measure/compare.ts'
import { cpuRate } from '../measure/contender.ts'
import { type Figure, verdict } from '../measure/figure.ts'
import { isDisturbed } from '../measure/interference.ts'
import { loadShare, medianOf, rates, serverShare } from '../measure/series.ts'
import type { Spread } from '../measure/statistics.ts'

/** One line per contender: its rate, its spread, how busy the cores were. */
export function rateLines(series: readonly Series[], unit: string): string[] {
  return series.map((one) => {
    const { median, low, high } = rates(one)
    const spread = `(${whole(low)} … ${whole(high)})`
    return `${one.name.padEnd(18)} ${whole(median).padStart(7)} ${unit} ${spread.padEnd(18)} ${busy(one)}`
  })
}

function busy(series: Series): string {
  const perCpu = whole(medianOf(series, cpuRate))
  const server = percent(serverShare(series))
  const load = percent(loadShare(series))
  return `${perCpu.padStart(7)} per CPU second; busy: server ${server}, generator ${load}`
}

/** A warning when other processes used the machine. */
export function contentionLines(series: readonly Series[]): string[] {
  const rounds = series[0]?.rounds ?? []
  const disturbed = rounds.filter(isDisturbed).length
  if (disturbed === 0) return []
  return [`CAUTION: other processes used the machine in ${disturbed} of ${rounds.length} rounds; see "by CPU time".`]
}

export function figureLine(figure: Figure): string {
  const required = `required ${relation(figure)}${figure.required}: ${verdict(figure)}`
  const aim = figure.aim === undefined ? '' : `, aim ${relation(figure)}${figure.aim}: ${verdict(figure, figure.aim)}`
  const onAverage = figure.onAverage === undefined ? '' : `; on average ${fine(figure.onAverage.median)}`
  const byCpu = figure.byCpu === undefined ? '' : `; by CPU time ${fine(figure.byCpu.median)}`
  return `${figure.label.padEnd(32)} ${spreadText(figure.value).padEnd(22)} ${required}${aim}${onAverage}${byCpu}`
}

function relation(figure: Figure): string {
  return figure.wanted === 'atMost' ? '<= ' : '>= '
}

export function spreadText({ median, low, high }: Spread): string {
  return `${fine(median)} (${fine(low)} … ${fine(high)})`
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

export function fine(value: number): string {
  return value.toFixed(2)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
