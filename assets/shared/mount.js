// What every component has in common: how it is mounted.

/**
 * What a component calls to tell the server something: a state stays, a trigger is seen once.
 * @typedef {{
 *   setStateValue: (name: string, value: any) => void,
 *   setTriggerValue: (name: string, value: any) => void,
 * }} Server
 */

/**
 * A component on the page.
 * @typedef {{ server: Server, show: (data: any) => unknown, close: () => void }} Component
 */

/**
 * A class of components as the function that Streamlit calls: when the page is drawn, and again with new data or another
 * theme. What it returns is called when the component leaves the page.
 * @param {new (parent: HTMLElement | ShadowRoot) => Component} ComponentClass
 */
export function mount(ComponentClass) {
  /** @type {WeakMap<object, Component>} */
  const mounted = new WeakMap();
  /** @param {{ data: any, parentElement: HTMLElement | ShadowRoot } & Server} call */
  return ({ data, parentElement, setStateValue, setTriggerValue }) => {
    const component = mounted.get(parentElement) ?? new ComponentClass(parentElement);
    mounted.set(parentElement, component);
    component.server = { setStateValue, setTriggerValue };
    component.show(data);
    return () => {
      mounted.delete(parentElement);
      component.close();
    };
  };
}
