/** The results as rows of cells, for the terminal and for the documentation. */
import { WHATS } from './checks.ts'
import type { Place } from './driver.ts'
import type { Cell, JudgedLeg } from './judge.ts'

export type Rows = readonly (readonly string[])[]

export const TITLES: Readonly<Record<Place, string>> = {
  http: 'One instance over HTTP',
  two: 'Two instances behind a round robin',
  stdio: 'A program on stdio',
}

/** A row for each client at this place, and for each era that it can be told to speak. */
export function placeRows(place: Place, legs: readonly JudgedLeg[]): Rows {
  const rows = legs
    .filter((leg) => leg.place === place)
    .map(({ client, spoke, cells }) => [client, spoke ?? '–', ...cells.map(cellText)])
  return [['client', 'era', ...WHATS], ...rows]
}

function cellText(cell: Cell): string {
  return cell.kind === 'unexpected' ? '**no**' : cell.kind
}

/** Why a cell is not a yes: each reason once, with the checks and places that it explains. */
export function reasonRows(legs: readonly JudgedLeg[]): Rows {
  const reasons = new Map<string, { head: readonly string[]; whats: Set<string>; where: Set<string>; why: string }>()
  for (const { client, place, spoke, cells } of legs) {
    for (const [index, cell] of cells.entries()) {
      if (cell.kind === 'yes') continue
      const why = cell.kind === 'unexpected' ? cell.saw : cell.because
      const key = JSON.stringify([client, cell.kind, why])
      const row = reasons.get(key) ?? { head: [client, cell.kind], whats: new Set(), where: new Set(), why }
      row.whats.add(WHATS[index] ?? '')
      row.where.add(spoke === undefined ? place : `${place}, ${spoke}`)
      reasons.set(key, row)
    }
  }
  const rows = [...reasons.values()].map(({ head: [client = '', whose = ''], whats, where, why }) => {
    return [client, [...whats].join(', '), [...where].join('; '), whose, why]
  })
  return [['client', 'what', 'where', 'whose', 'why'], ...rows]
}
