export { type InstructedServer, unionInstructions } from './instructions.ts'
export { type CatalogNames, createNames, type ResolvedName } from './names.ts'
export { passes, type ToolFilter } from './patterns.ts'
export type { NamedServer } from './prefixes.ts'
export { exposedUri, resolveUri } from './uris.ts'
export { applyView, nameBehindView, nameInView, type View } from './views.ts'
export {
  CALL_TOOL,
  createToolSearch,
  DESCRIBE_TOOL,
  FIND_TOOL,
  readToolCall,
  savedBytes,
  SEARCH_TOOLS,
  toolError,
  type ToolSearch,
} from './search.ts'
export { type PinFile, pinFile, pinPath } from './pinFile.ts'
export { acceptOffered, checkDefinitions, offeredTools, type OfferedTool, type PinCheck, type Pins } from './pins.ts'
