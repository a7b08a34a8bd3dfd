const { NODE_COMPILE_CACHE = '', NODE_OPTIONS = '' } = process.env

/** The same as flags of Node, for a process that gets nothing of it. */
export const quickStartFlags = NODE_OPTIONS.split(' ')
  .filter((option) => option.includes('/preload-'))
  .map((option) => option.replaceAll('"', ''))

/** What makes a program start quickly, for a process that does not get the whole environment. */
export const quickStart = { NODE_COMPILE_CACHE, NODE_OPTIONS }
