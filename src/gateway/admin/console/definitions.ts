/** New and changed definitions of tools, and their acceptance. */
import type { Json } from '../../../protocol/index.ts'
import type { OfferedTool } from '../../catalog/index.ts'
import type { ConsoleAction, ConsoleTopic } from './desk.ts'
import { RefusedError } from './refused.ts'

export interface DefinitionsParts {
  /** Where definitions are pinned. */
  readonly place: string
  offered(): Promise<readonly (OfferedTool & { readonly name: string; readonly version: string })[]>
  /** False if the definition has changed since it was shown, or no longer waits. */
  accept(shown: { readonly server: string; readonly tool: string; readonly version: string }): Promise<boolean>
}

/** Maximum number of definitions that a page shows. */
const MAX_SHOWN = 200

/** Items: `pins`, and `tool/SERVER/TOOL` for each definition that waits. */
export function definitionsTopic(definitions: DefinitionsParts): ConsoleTopic {
  return {
    read: async () => {
      const { place } = definitions
      const found = await definitions.offered().then(
        (offered) => ({ offered, fault: null }),
        (error: unknown) => ({ offered: [], fault: error instanceof Error ? error.message : 'They cannot be read.' }),
      )
      const { offered, fault } = found
      const items: Record<string, Json> = { pins: { place, fault, waiting: offered.length } }
      for (const { server, tool, name, version, change, was, news = {} } of offered.slice(0, MAX_SHOWN))
        items[`tool/${server}/${tool}`] = { server, tool, name, version, change, was, news }
      return items
    },
  }
}

export function acceptAction(definitions: DefinitionsParts): ConsoleAction {
  const shownBy = ({ server, tool, version }: Json) => ({
    server: String(server),
    tool: String(tool),
    version: String(version),
  })
  return {
    role: 'operator',
    subject: (params) => `${String(params['server'])}/${String(params['tool'])}`,
    run: async (params) => {
      if (await definitions.accept(shownBy(params))) return {}
      throw new RefusedError(409, 'This definition has changed again since it was shown. Nothing was accepted.')
    },
  }
}
