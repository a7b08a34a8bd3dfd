/** A table of settings in a JSON file, from their interface. */
import type { Entries } from './entries.ts'
import { standardText } from './exportsPage.ts'
import { code, prose, table } from '../docs/markdown.ts'

/** `name`: the interface. `page`: the page that shows the table. */
export function settingsReference(name: string, entries: Entries, page: string): string {
  const declaration = entries.package.type(name)
  if (declaration === undefined) throw new Error(`There are no settings ${name}.`)
  const rows = entries.package.membersOf(declaration).map(({ name: setting, type, doc }) => {
    if (doc.text === '' || doc.standard === undefined)
      throw new Error(`${declaration.path}: ${setting} needs a sentence and a @default.`)
    return [
      code(setting),
      prose(doc.text),
      inJson(standardText(doc.standard)),
      inJson(entries.linked(type, page)).replaceAll('readonly ', ''),
    ]
  })
  return table(['setting', 'what it means', 'default', 'type'], rows)
}

/** Texts in quotes as JSON has them. */
function inJson(text: string): string {
  return text.replace(/'([^']*)'/g, '"$1"')
}
