// Which test proves which requirement. `npm run docs` writes docs/reference/requirements.md from this; the docs stage of
// `npm test` fails when the page is stale, or when an area below has a requirement that no test proves.
import data from '../docs/reference/requirements.json' with { type: 'json' }
import { type Citation, readCitations } from './docs/citations.ts'
import { isTest, listFiles, readTexts } from './repository.ts'

const { families } = data
const requirements: readonly Requirement[] = data.requirements

/** The areas whose every requirement must have a test. Add an area here when its tests are complete. */
const finishedAreas: readonly string[] = ['server', 'client', 'tasks', 'probe']

export interface Requirement {
  id: string
  level: string
  /** Who brings the proof: server, client, tasks, probe or gateway. */
  areas: string[]
  text: string
  /** Why Pannier deliberately does something else. The tests that cite it show what is done instead. */
  differs?: string
}

export function citationsInTests(): Citation[] {
  return readCitations(readTexts(listFiles().filter(isTest)))
}

/** Unknown ids, and requirements of finished areas without a proof. */
export function requirementProblems(
  all: readonly Requirement[],
  citations: readonly Citation[],
  finished = finishedAreas,
): string[] {
  const known = new Set(all.map(({ id }) => id))
  const cited = new Set(citations.map(({ id }) => id))
  const unknown = citations.filter(({ id }) => !known.has(id))
  const unproven = all.filter(({ id, areas }) => !cited.has(id) && areas.some((area) => finished.includes(area)))
  return [
    ...unknown.map(({ id, path }) => `${path}: cites ${id}, which is not in docs/reference/requirements.json`),
    ...unproven.map(({ id, text }) => `no test proves ${id}: ${text}`),
  ]
}

/** The whole text of docs/reference/requirements.md. */
export function requirementsPage(citations: readonly Citation[]): string {
  const proofs = Map.groupBy(citations, ({ id }) => id)
  const { proven, differing, open } = tally(requirements, proofs)
  return [
    '# Requirements and the tests that prove them',
    'Written by `npm run docs` from `docs/reference/requirements.json` and the tests; do not edit it by hand.',
    `Of ${requirements.length} requirements ${proven.length} are proven by a test. In ${differing.length} Pannier differs on ` +
      'purpose: the row says why, and its tests show what is done instead. ' +
      `${open.length} have no test yet, and name the part of Pannier that brings it.`,
    areaTable(requirements, proofs),
    ...Object.entries(families).map(([family, title]) => familyTable(family, title, proofs)),
  ]
    .join('\n\n')
    .concat('\n')
}

type Proofs = Map<string, Citation[]>

function tally(all: readonly Requirement[], proofs: Proofs) {
  const cited = all.filter(({ id }) => proofs.has(id))
  return {
    proven: cited.filter(({ differs }) => differs === undefined),
    differing: cited.filter(({ differs }) => differs !== undefined),
    open: all.filter(({ id }) => !proofs.has(id)),
  }
}

function areaTable(all: readonly Requirement[], proofs: Proofs): string {
  const areas = [...new Set(all.flatMap((requirement) => requirement.areas))]
  const ids = (some: readonly Requirement[]): string => some.map(({ id }) => id).join(', ') || 'none'
  const rows = areas.map((area) => {
    const mine = all.filter((requirement) => requirement.areas.includes(area))
    const { proven, differing, open } = tally(mine, proofs)
    return `| ${area} | ${proven.length} of ${mine.length} | ${ids(differing)} | ${ids(open)} |`
  })
  return ['| part | proven | differs | without a test |', '|---|---|---|---|', ...rows].join('\n')
}

function familyTable(family: string, title: string, proofs: Proofs): string {
  const rows = requirements
    .filter(({ id }) => id.startsWith(`${family}-`))
    .map((requirement) => {
      const { id, level, text } = requirement
      return `| ${id} | ${level} | ${text} | ${proofCell(proofs.get(id), requirement)} |`
    })
  const head = ['| id | level | requirement | proved by |', '|---|---|---|---|']
  return `## ${family}: ${title}\n\n${[...head, ...rows].join('\n')}`
}

function proofCell(citations: readonly Citation[] | undefined, { areas, differs }: Requirement): string {
  if (!citations) return `none yet (${areas.join(', ')})`
  const byFile = Map.groupBy(citations, ({ path }) => path)
  const cells = [...byFile].map(([path, list]) => {
    const sentences = [...new Set(list.map(({ sentence }) => sentence.replaceAll('|', '\\|')))]
    return `[${path}](../../${path}): ${sentences.join('; ')}`
  })
  return [...(differs === undefined ? [] : [`**differs:** ${differs} Instead:`]), ...cells].join('<br>')
}
