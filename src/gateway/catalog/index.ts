export { unionInstructions } from './instructions.ts'
export { type CatalogNames, createNames } from './names.ts'
export { passes } from './patterns.ts'
export { SEPARATOR } from './prefixIndex.ts'
export type { NamedServer } from './prefixes.ts'
export { exposedUri, resolveUri } from './uris.ts'
export { applyView, nameBehindView, unknownInView, type View } from './views.ts'
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
