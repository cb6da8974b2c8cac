// A board of switches, and the names that its heads have in the URL.

/**
 * A board of switches. `picture` contains the maps of all its heads; each switch shows its head's part of the picture.
 * @typedef {{ kind: string, title: string, layers: number, heads: number, picture: string }} Board
 */

/**
 * Returns the names of the heads of one layer of a board.
 * @param {Board} board
 * @param {number} layer
 */
export function headNamesOfRow({ kind, heads }, layer) {
  return Array.from({ length: heads }, (_, head) => `${kind}.${layer + 1}.${head + 1}`);
}

/**
 * Returns the names of all heads of a board.
 * @param {Board} board
 */
export function headNamesOf(board) {
  return Array.from({ length: board.layers }, (_, layer) => headNamesOfRow(board, layer)).flat();
}
