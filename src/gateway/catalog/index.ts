export { prepareDigests } from './definition.ts'
export { type CatalogNames, createNames, type NamedServer, SEPARATOR } from './names.ts'
export { filterTools, passes, type ToolFilter } from './patterns.ts'
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
export { pinFile, pinPath } from './pinFile.ts'
export { databasePins, memoryPins, type PinStore } from './pinStore.ts'
export {
  acceptOffered,
  checkDefinitions,
  MAX_PIN_CHARS,
  offeredTools,
  type OfferedTool,
  type PinCheck,
  type Pins,
} from './pins.ts'
