/** How often the method "tools" is right for the recordings, and how often for each confidence that it shows. */
import { toolsResult } from '../src/probe/methods/tools.ts'
import type { State } from 'pannier/probe'
import { accuracyOf, matrixOf, percentOf, STATES, TRUTHS } from './confusionMatrix.ts'
import type { Truth } from './configuration.ts'
import { readRecordings, type Recording } from './recordings.ts'
import { table } from './resultsPage.ts'
import { type CrossValidated, crossValidated } from './toolModel.ts'

interface Judged {
  readonly name: string
  readonly truth: Truth
  readonly state: State
  readonly confidence: number
}

/** The three ways in which recorded servers are judged. */
export interface Measured {
  readonly title: string
  readonly judged: readonly Judged[]
}

export function measure(): readonly Measured[] {
  const all = readRecordings()
  const part = (wanted: Recording['part']): readonly Recording[] => all.filter((one) => one.part === wanted)
  return [
    { title: 'that the weights were made from', judged: part('fit').map(byTools) },
    { title: 'the same, each judged by weights made without its family', judged: crossValidated().map(asJudged) },
    { title: 'kept aside, by tools alone', judged: part('aside').map(byTools) },
    { title: 'kept aside, the whole verdict', judged: part('aside').flatMap(byProbe) },
  ]
}

function byTools({ name, truth, tools, capabilities }: Recording): Judged {
  const { state, confidence } = toolsResult(tools, capabilities)
  return { name, truth, state, confidence }
}

function byProbe({ name, truth, live }: Recording): readonly Judged[] {
  return live === undefined ? [] : [{ name, truth, state: live.state, confidence: live.confidence }]
}

function asJudged({ recording: { name, truth }, state, confidence }: CrossValidated): Judged {
  return { name, truth, state, confidence }
}

export function rightOf(judged: readonly Judged[]): number {
  return judged.filter(({ state, truth }) => state === truth).length
}

/** The tables for docs/probe-accuracy.md. */
export function recordingsPage(): string {
  const measured = measure()
  const accuracy = measured.map(({ title, judged }) => {
    const { all, right } = accuracyOf(matrixOf(judged))
    const stateless = judged.filter(({ truth }) => truth === 'STATELESS').length
    return [title, `${percentOf(right, all)} (${right} of ${all})`, `${percentOf(stateless, all)} (${stateless})`]
  })
  const matrix = measured.flatMap(({ title, judged }) => {
    const counts = matrixOf(judged)
    return TRUTHS.map((truth) => [title, truth, ...STATES.map((state) => String(counts[truth][state]))])
  })
  return [
    table([['servers', 'right', 'with all called STATELESS'], ...accuracy]),
    table([['servers', 'it is', ...STATES.map((state) => `judged ${state}`)], ...matrix]),
    table([['servers', 'confidence shown', 'how many', 'right'], ...measured.flatMap(calibrationRows)]),
    wrongOf(measured),
  ].join('\n\n')
}

function calibrationRows({ title, judged }: Measured): readonly (readonly string[])[] {
  const confidences = [...new Set(judged.map(({ confidence }) => confidence))].toSorted((one, other) => other - one)
  return confidences.map((confidence) => {
    const alike = judged.filter((one) => one.confidence === confidence)
    const right = rightOf(alike)
    return [title, percentOf(confidence, 1), String(alike.length), `${percentOf(right, alike.length)} (${right})`]
  })
}

function wrongOf(measured: readonly Measured[]): string {
  const kept = measured.find(({ title }) => title === 'kept aside, by tools alone')?.judged ?? []
  const wrong = kept.filter(({ state, truth }) => state !== truth).map(({ name, truth }) => `\`${name}\` (${truth})`)
  return `Wrong of those kept aside, by tools alone: ${wrong.join(', ')}.`
}
