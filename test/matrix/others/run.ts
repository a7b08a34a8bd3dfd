/** `npm run matrix -- --others`: the gateways of others and ours, one after the other; each is stored when it was run. */
import { installPackages } from '../../../interop/packages.ts'
import { writeResults } from '../page.ts'
import { stored, storePart } from '../parts.ts'
import type { Trial } from './counts.ts'
import { folderOf, OTHERS } from './gateways.ts'
import { othersPage, trialText } from './table.ts'
import { tryGateway } from './trial.ts'

export interface OthersOptions {
  /** @default all of them */
  readonly names: readonly string[]
  readonly kills: number
  readonly minutes: number
  readonly behaviours?: readonly string[] | undefined
}

/** When all of them have been run at this commit, the page is written. */
export async function runOthers({ names, kills, minutes, behaviours }: OthersOptions): Promise<void> {
  const chosen = OTHERS.filter(({ name }) => names.length === 0 || names.includes(name))
  if (chosen.length === 0) throw new Error(`Choose among ${OTHERS.map(({ name }) => name).join(', ')}.`)
  for (const gateway of chosen) {
    if (gateway.package !== undefined) installPackages(folderOf(gateway.name))
    const trial = await tryGateway(gateway, {
      kills,
      minutes,
      ...(behaviours && { behaviours }),
      onProgress: (line) => console.log(line),
    })
    console.log(trialText(trial))
    if (behaviours === undefined) storePart(`others-${gateway.name}`, trial)
  }
  const trials = OTHERS.flatMap(({ name }) => stored<Trial>(`others-${name}`) ?? [])
  if (behaviours === undefined && trials.length === OTHERS.length) writeResults('others', othersPage(trials))
}
