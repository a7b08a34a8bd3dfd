/** How often the methods "tools" and "program" are right for the recordings, and how often for each confidence that they show. */
import { resultOfSignals, together } from '../src/probe/methods/program/program.ts'
import type { ProgramSignalName } from '../src/probe/methods/program/signals.ts'
import { toolsResult } from '../src/probe/methods/tools.ts'
import type { State } from 'pannier/probe'
import { accuracyOf, matrixOf, percentOf, STATES, TRUTHS } from './confusionMatrix.ts'
import type { Truth } from './configuration.ts'
import { crossValidatedPrograms } from './programModel.ts'
import { readRecordings, type Recording } from './recordings.ts'
import { table } from './resultsPage.ts'
import { type CrossValidated, crossValidated } from './toolModel.ts'

interface Judged {
  readonly name: string
  readonly truth: Truth
  readonly state: State
  readonly confidence: number
}

/** One of the ways in which recorded servers are judged. */
export interface Measured {
  readonly title: string
  readonly judged: readonly Judged[]
}

/** Those that were labelled before the probe saw them, and that no weight was made from. */
const SETS = [
  { set: 7, title: 'the seventh set' },
  { set: 8, title: 'the eighth set' },
] as const
const WHOLE = ', the whole verdict'

export function measure(): readonly Measured[] {
  const all = readRecordings()
  const fit = all.filter(({ part }) => part === 'fit')
  const inSet = (wanted: number): readonly Recording[] => all.filter(({ set }) => set === wanted)
  const { program, together: both } = crossValidatedPrograms()
  return [
    { title: 'that the weights were made from', judged: fit.map(byTools) },
    {
      title: 'the same, each server judged by weights that were fitted without servers like it',
      judged: crossValidated().map(asJudged),
    },
    { title: 'the servers with readable files, by files alone, in the same way', judged: program.map(asJudged) },
    {
      title: 'the servers of the third to sixth set, by tools and files together, in the same way',
      judged: both.map(asJudged),
    },
    ...SETS.flatMap(({ set, title }) => keptAside(inSet(set), title)),
  ]
}

function keptAside(aside: readonly Recording[], title: string): readonly Measured[] {
  return [
    { title: `${title}, by tools alone`, judged: aside.map(byTools) },
    { title: `${title}, by files alone`, judged: aside.map(byFiles) },
    { title: `${title}, by both`, judged: aside.map(byBoth) },
    { title: `${title}${WHOLE}`, judged: aside.flatMap(byProbe) },
  ]
}

function byTools({ name, truth, tools, capabilities }: Recording): Judged {
  const { state, confidence } = toolsResult(tools, capabilities)
  return { name, truth, state, confidence }
}

/** Where its files could not be read, they say nothing. */
function byFiles({ name, truth, files }: Recording): Judged {
  if (files === undefined) return { name, truth, state: 'UNKNOWN', confidence: 0 }
  const { state, confidence } = resultOfSignals(recordedSignals(files))
  return { name, truth, state, confidence }
}

function byBoth(recording: Recording): Judged {
  const { name, truth, tools, capabilities, files } = recording
  if (files === undefined) return byTools(recording)
  const both = together(toolsResult(tools, capabilities), resultOfSignals(recordedSignals(files)))
  return { name, truth, state: both?.state ?? 'UNKNOWN', confidence: both?.confidence ?? 0 }
}

function recordedSignals(files: NonNullable<Recording['files']>) {
  return Object.entries(files).map(([name, strength]) => ({ name: name as ProgramSignalName, strength, sentence: '' }))
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

/** The tables for docs/reference/probe-accuracy.md. */
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
  const whole = measured.filter(({ title }) => title.endsWith(WHOLE))
  const lines = whole.map(({ title, judged }) => {
    const wrong = judged.filter(({ state, truth }) => state !== truth)
    const named = wrong.map(({ name, truth }) => `\`${name}\` (${truth})`)
    return `Wrong of ${title.replace(WHOLE, '')}, by the whole verdict: ${named.join(', ')}.`
  })
  return lines.join('\n\n')
}
