/** The parts of pages that are written from the sources, by the words of their regions. */
import manifest from '../../package.json' with { type: 'json' }
import { isTest, listFiles, readTexts } from '../repository.ts'
import { Entries } from './entries.ts'
import { exportsReference, undocumented } from './exportsPage.ts'
import { Package } from './package.ts'
import { settingsReference } from './settingsTable.ts'

export interface Reference {
  /** `what`: the words of a region. `page`: the file name of the page it is on. */
  readonly write: (what: string, page: string) => string
  /** The regions that a page must have. */
  readonly required: readonly string[]
  /** Sources without a comment that the reference needs. */
  readonly problems: readonly string[]
}

export async function readReference(): Promise<Reference> {
  const sources = listFiles().filter((path) => /^src\/.+\.ts$/.test(path) && !isTest(path))
  const entries = new Entries(new Package(manifest, readTexts(sources)))
  // The program and the metrics are run, so they are loaded where they are needed.
  const { commandsReference } = await import('./commandsPage.ts')
  const { metricsReference } = await import('./metricsPage.ts')
  const whole: Readonly<Record<string, string>> = {
    commands: commandsReference(),
    metrics: await metricsReference(),
  }
  const write = (what: string, page: string): string => {
    const [kind = '', name = ''] = what.split(' ')
    const subpath = entries.package.subpaths.find((each) => each.name === name)
    if (kind === 'exports' && subpath !== undefined) return exportsReference(subpath, entries)
    if (kind === 'settings') return settingsReference(name, entries, page)
    const text = whole[what]
    if (text === undefined) throw new Error(`Nothing writes <!-- generated: ${what} -->.`)
    return text
  }
  const required = [...entries.package.subpaths.map((subpath) => `exports ${subpath.name}`), ...Object.keys(whole)]
  return { write, required, problems: undocumented(entries) }
}
